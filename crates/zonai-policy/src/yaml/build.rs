//! From the parser's events to the tree, within a budget of depth and memory.
//!
//! Must never copy an alias without charging the budget for it: ten lines of YAML can mean gigabytes.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle};

use super::{Entry, MAX_DEPTH, Map, Node, Value};
use crate::diagnostic::quote;
use crate::{Faults, Span};

/// Bytes a tree may take, aliases copied: far above what the largest file (1 MiB) needs without them.
const BUDGET: usize = 16 << 20;
/// What a node costs apart from its text.
const NODE_COST: usize = 32;

/// A list or map that is still open.
enum Open {
    Seq(Vec<Node>),
    Map(OpenMap),
}

#[derive(Default)]
struct OpenMap {
    map: Map,
    /// The key that waits for its value.
    key: Option<Node>,
    /// The keys so far, and the line of each.
    seen: HashMap<String, u32>,
}

struct Frame {
    open: Open,
    span: Span,
    anchor: usize,
}

struct Builder<'f, 's> {
    faults: &'f mut Faults<'s>,
    stack: Vec<Frame>,
    anchors: HashMap<usize, Node>,
    root: Option<Node>,
    documents: usize,
    spent: usize,
}

/// Why building stops at once: the fault is already told.
struct Stop;

pub(super) fn build(faults: &mut Faults<'_>) -> Option<Node> {
    let source = faults.source();
    let options = granit_parser::options! {
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut builder = Builder {
        faults,
        stack: Vec::new(),
        anchors: HashMap::new(),
        root: None,
        documents: 0,
        spent: 0,
    };
    for next in Parser::new_from_str_with_options(source.text(), options) {
        match next {
            Ok((event, span)) => builder.event(event, place(span)).ok()?,
            Err(error) => {
                let at = Span::point(
                    number(error.marker().line()).max(1),
                    number(error.marker().col()) + 1,
                );
                builder
                    .faults
                    .at(at, format!("this is not YAML: {}", error.info()));
                return None;
            }
        }
    }
    let empty = Node {
        value: Value::Scalar {
            text: String::new(),
            plain: true,
        },
        span: Span::START,
    };
    Some(builder.root.unwrap_or(empty))
}

impl Builder<'_, '_> {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Stop> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return self.stop(span, "a second document begins here; a file holds one");
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let mut plain = style == ScalarStyle::Plain;
                if let Some(tag) = tag {
                    if tag.is_yaml_core_schema_tag("str") {
                        plain = false;
                    } else {
                        self.faults.at(
                            span,
                            format!("the tag {} is not understood here", quote(&tag.original())),
                        );
                    }
                }
                // The parser gives an empty value as `~` of no length.
                let text = if plain && span.length == 0 {
                    String::new()
                } else {
                    text.into_owned()
                };
                self.spend(span, text.len())?;
                self.finish(
                    Node {
                        value: Value::Scalar { text, plain },
                        span,
                    },
                    anchor,
                )?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.open(
                    Open::Seq(Vec::new()),
                    span,
                    anchor,
                    tag.map(|tag| tag.original()),
                )?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.open(
                    Open::Map(OpenMap::default()),
                    span,
                    anchor,
                    tag.map(|tag| tag.original()),
                )?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
            Event::Alias(anchor) => self.alias(anchor, span)?,
            _ => {}
        }
        Ok(())
    }

    fn open(
        &mut self,
        open: Open,
        span: Span,
        anchor: usize,
        tag: Option<String>,
    ) -> Result<(), Stop> {
        if let Some(tag) = tag {
            self.faults.at(
                span,
                format!("the tag {} is not understood here", quote(&tag)),
            );
        }
        self.spend(span, 0)?;
        if self.stack.len() >= MAX_DEPTH {
            return self.stop(span, format!("nested more than {MAX_DEPTH} deep"));
        }
        self.stack.push(Frame {
            open,
            span: Span { length: 0, ..span },
            anchor,
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Stop> {
        let Some(frame) = self.stack.pop() else {
            return Ok(());
        };
        let value = match frame.open {
            Open::Seq(items) => Value::Seq(items),
            Open::Map(open) => Value::Map(open.map),
        };
        self.finish(
            Node {
                value,
                span: frame.span,
            },
            frame.anchor,
        )
    }

    /// Puts a finished node where it belongs.
    fn finish(&mut self, node: Node, anchor: usize) -> Result<(), Stop> {
        if anchor != 0 {
            self.spend(node.span, weight(&node))?;
            self.anchors.insert(anchor, node.clone());
        }
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Frame {
                open: Open::Seq(items),
                ..
            }) => items.push(node),
            Some(Frame {
                open: Open::Map(open),
                ..
            }) => match open.key.take() {
                None => open.key = Some(node),
                Some(key) => Self::entry(self.faults, open, key, node),
            },
        }
        Ok(())
    }

    fn entry(faults: &mut Faults<'_>, open: &mut OpenMap, key: Node, mut value: Node) {
        let key_span = key.span;
        let Value::Scalar { text, .. } = key.value else {
            faults.at(key_span, "a key must be a text");
            return;
        };
        if let Some(first) = open.seen.get(&text) {
            faults.at(
                key_span,
                format!(
                    "the key {} stands twice; first at line {first}",
                    quote(&text)
                ),
            );
            return;
        }
        if value.span.length == 0 && value.is_null() {
            // Nothing is written: the place to look at is the key.
            value.span = key_span;
        }
        open.seen.insert(text.clone(), key_span.line);
        open.map.entries.push(Entry {
            key: text,
            key_span,
            value,
        });
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Stop> {
        let Some(node) = self.anchors.get(&anchor) else {
            return self.stop(span, "this alias stands inside of what it refers to");
        };
        let (cost, depth) = (weight(node), depth(node));
        if self.stack.len() + depth > MAX_DEPTH {
            return self.stop(span, format!("nested more than {MAX_DEPTH} deep"));
        }
        let node = Node {
            span,
            ..node.clone()
        };
        self.spend(span, cost)?;
        self.finish(node, 0)
    }

    fn spend(&mut self, span: Span, cost: usize) -> Result<(), Stop> {
        self.spent = self.spent.saturating_add(cost).saturating_add(NODE_COST);
        if self.spent > BUDGET {
            return self.stop(
                span,
                "the file means more than can be held; aliases multiply",
            );
        }
        Ok(())
    }

    fn stop(&mut self, span: Span, message: impl Into<String>) -> Result<(), Stop> {
        self.faults.at(span, message);
        Err(Stop)
    }
}

fn weight(node: &Node) -> usize {
    NODE_COST
        + match &node.value {
            Value::Scalar { text, .. } => text.len(),
            Value::Seq(items) => items.iter().map(weight).sum(),
            Value::Map(map) => map
                .entries
                .iter()
                .map(|e| NODE_COST + e.key.len() + weight(&e.value))
                .sum(),
        }
}

fn depth(node: &Node) -> usize {
    match &node.value {
        Value::Scalar { .. } => 0,
        Value::Seq(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Map(map) => {
            1 + map
                .entries
                .iter()
                .map(|e| depth(&e.value))
                .max()
                .unwrap_or(0)
        }
    }
}

fn place(span: granit_parser::Span) -> Span {
    let (start, end) = (span.start, span.end);
    let length = if start.line() == end.line() {
        end.col().saturating_sub(start.col())
    } else {
        usize::from(end.index() > start.index())
    };
    Span {
        line: number(start.line()).max(1),
        column: number(start.col()) + 1,
        length: number(length),
    }
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX - 1)
}
