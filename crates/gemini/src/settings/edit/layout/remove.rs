//! Removing a value from an object or a list.

use std::ops::Range;

use super::TextLayout;
use crate::jsonc::JsoncNode;

/// A range that is cut out of a text.
type TextCut = Range<usize>;

/// One that is to be widened, or a comma alone.
struct CutPiece {
    cut: TextCut,
    is_value: bool,
}

impl TextLayout<'_> {
    /// Removes the value at a key. Comments around it stay.
    pub(in super::super) fn remove_key(&self, path: &[String], key: &str) -> Option<String> {
        let node = self.tree.find_node(path)?;
        let at = node.child_index(key)?;
        Some(self.cut_children(node, &[at]))
    }

    /// Takes items out of a list, however many. Their places are in rising order.
    pub(in super::super) fn remove_items(
        &self,
        path: &[String],
        places: &[usize],
    ) -> Option<String> {
        Some(self.cut_children(self.tree.find_node(path)?, places))
    }

    fn cut_children(&self, node: &JsoncNode, places: &[usize]) -> String {
        let mut pieces = self.cut_pieces(node, places);
        let inside: TextCut = node.span.start + 1..node.span.end - 1;
        let cuts = pieces.iter().map(|piece| piece.cut.clone());
        if without_cuts(self.text, &inside, cuts).trim().is_empty() {
            return without_cuts(self.text, &(0..self.text.len()), [inside]);
        }
        pieces.dedup_by(|second, first| self.join_cuts(first, second));
        for piece in pieces.iter_mut().filter(|piece| piece.is_value) {
            self.widen_cut(&mut piece.cut);
        }
        let cuts = pieces.into_iter().map(|piece| piece.cut);
        without_cuts(self.text, &(0..self.text.len()), cuts)
    }

    /// The values, each with its comma, from the first to the last.
    fn cut_pieces(&self, node: &JsoncNode, places: &[usize]) -> Vec<CutPiece> {
        let last = node.children.len();
        let at_end = places.iter().rev().zip((0..last).rev());
        let at_end = at_end.take_while(|(place, end)| *place == end).count();
        let mut pieces = Vec::new();
        for &at in places {
            let child = &node.children[at];
            pieces.push(CutPiece {
                cut: child.start..child.node.span.end,
                is_value: true,
            });
            // The comma behind it goes, or that before it if nothing stays behind it.
            let is_at_end = at >= last - at_end;
            let before = if is_at_end {
                at.checked_sub(1)
            } else {
                Some(at)
            };
            let comma = before.and_then(|before| self.comma_behind(node, before));
            pieces.extend(comma.map(|cut| CutPiece {
                cut,
                is_value: false,
            }));
        }
        pieces.sort_by_key(|piece| piece.cut.start);
        pieces
    }

    /// The comma behind a value.
    fn comma_behind(&self, node: &JsoncNode, at: usize) -> Option<TextCut> {
        let end = node.children[at].node.span.end;
        let comma = self.tree.plain.text[end..].find(',')? + end;
        Some(comma..comma + 1)
    }

    /// Two cuts with nothing but blanks between them are one.
    fn join_cuts(&self, first: &mut CutPiece, second: &CutPiece) -> bool {
        let between = &self.text[first.cut.end..second.cut.start];
        let are_one = between.trim_matches([' ', '\t']).is_empty();
        if are_one {
            first.cut.end = second.cut.end;
            first.is_value |= second.is_value;
        }
        are_one
    }

    /// Takes out the blanks too that would be left: a line with nothing else on it, or the gap within a line.
    fn widen_cut(&self, cut: &mut TextCut) {
        let blank = [' ', '\t'];
        let left = self.text[..cut.start].trim_end_matches(blank).len();
        let behind = &self.text[cut.end..];
        let right = cut.end + behind.len() - behind.trim_start_matches(blank).len();
        let rest = &self.text[right..];
        let newline = ["\r\n", "\n"].into_iter().find(|end| rest.starts_with(end));
        let is_line_start = left == 0 || self.text[..left].ends_with('\n');
        match newline {
            Some(newline) if is_line_start => *cut = left..right + newline.len(),
            Some(_) => *cut = left..right,
            // The rest of the line moves up to its place.
            None if rest.starts_with(['}', ']']) => *cut = left..cut.end,
            None => cut.end = right,
        }
    }
}

/// A part of a text without its cuts.
fn without_cuts(text: &str, part: &TextCut, cuts: impl IntoIterator<Item = TextCut>) -> String {
    let mut out = String::with_capacity(part.len());
    let mut from = part.start;
    for cut in cuts {
        out.push_str(&text[from..cut.start.max(from)]);
        from = cut.end.max(from);
    }
    out.push_str(&text[from..part.end]);
    out
}
