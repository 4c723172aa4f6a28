//! STUB
use lapidary_vocab::Event;
#[derive(Debug, Clone, Default)]
pub struct Budget;
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BudgetUnknown {
    #[default]
    Warn,
    Fail,
}
#[derive(Debug, Clone)]
pub struct Exceeded;
impl std::fmt::Display for Exceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("x")
    }
}
#[derive(Debug)]
pub struct Meter;
impl Meter {
    pub fn new(_: Budget) -> Self {
        Self
    }
    pub fn note(&mut self, _: &Event) -> Option<Exceeded> {
        None
    }
    pub fn unknown(&self) -> Vec<&'static str> {
        vec![]
    }
}
