//! Taking something out of an object or a list.

use std::ops::Range;

use super::Layout;
use crate::jsonc::Node;

/// What is taken out of a text.
type Cut = Range<usize>;

impl Layout<'_> {
    /// Takes out what is at a key. Comments around it stay.
    pub(in super::super) fn remove(&self, path: &[String], key: &str) -> Option<String> {
        let node = self.tree.find(path)?;
        let at = node.position(key)?;
        let child = &node.children[at];
        let own: Cut = child.start..child.node.span.end;
        let inside: Cut = node.span.start + 1..node.span.end - 1;
        let (before, behind) = (inside.start..own.start, own.end..inside.end);
        let is_alone = [before, behind].map(|rest| self.text[rest].trim().is_empty());
        if is_alone == [true, true] {
            return Some(without(self.text, &[inside]));
        }
        let start = own.start;
        let mut cuts = vec![own];
        if let Some(comma) = self.comma(node, at) {
            cuts.push(comma);
            cuts.sort_by_key(|cut| cut.start);
        }
        self.join(&mut cuts);
        self.widen(&mut cuts, start);
        Some(without(self.text, &cuts))
    }

    /// The comma that goes with a value: the one behind it, or that before it if it is the last.
    fn comma(&self, node: &Node, at: usize) -> Option<Cut> {
        let is_last = at + 1 == node.children.len();
        let behind = if is_last { at.checked_sub(1)? } else { at };
        let end = node.children[behind].node.span.end;
        let comma = self.tree.plain.text[end..].find(',')? + end;
        Some(comma..comma + 1)
    }

    /// Two cuts with nothing but blanks between them are one.
    fn join(&self, cuts: &mut Vec<Cut>) {
        if let [first, second] = &mut cuts[..] {
            let between = &self.text[first.end..second.start];
            if between.trim_matches([' ', '\t']).is_empty() {
                first.end = second.end;
                cuts.truncate(1);
            }
        }
    }

    /// Takes out the blanks too that would be left: a line with nothing else on it, or the gap within a line.
    fn widen(&self, cuts: &mut [Cut], start: usize) {
        let Some(cut) = cuts.iter_mut().find(|cut| cut.contains(&start)) else {
            return;
        };
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
            // What follows on the same line moves up to where this stood.
            None if rest.starts_with(['}', ']']) => *cut = left..cut.end,
            None => cut.end = right,
        }
    }
}

fn without(text: &str, cuts: &[Cut]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for cut in cuts {
        out.push_str(&text[from..cut.start.max(from)]);
        from = cut.end.max(from);
    }
    out.push_str(&text[from..]);
    out
}
