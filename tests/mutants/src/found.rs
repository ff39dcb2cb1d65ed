//! The positions in a file at which code can query at run time whether a mutant is active. Code that is
//! evaluated at compile time has no such position.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use syn::visit::{self, Visit};
use syn::{Arm, BinOp, Block, Expr, ExprBinary, ExprRepeat, ExprUnary, ReturnType, Signature};

use crate::lines::Lines;

/// The positions, by their first byte.
pub(crate) struct Found {
    pub(crate) lines: Lines,
    /// Operators and their operands, by the byte of the operator.
    pub(crate) expressions: HashMap<usize, Expression>,
    /// Match arms without a guard, and the ends of their patterns.
    pub(crate) arms: HashMap<usize, usize>,
    pub(crate) guards: HashSet<usize>,
    /// First statements of functions that can return early.
    pub(crate) bodies: HashSet<usize>,
    /// All functions, from `fn` or its qualifiers to the closing brace.
    pub(crate) functions: Vec<Range<usize>>,
    /// Whether the visited code is evaluated by the compiler.
    constant: bool,
}

/// An operator and its operands.
pub(crate) enum Expression {
    Binary { whole: Range<usize>, left: Range<usize>, right: Range<usize>, assigns: bool },
    Unary { whole: Range<usize>, operand: Range<usize> },
}

impl Found {
    pub(crate) fn of(source: &str) -> syn::Result<Found> {
        let file = syn::parse_file(source)?;
        let mut found = Found {
            lines: Lines::of(source),
            expressions: HashMap::new(),
            arms: HashMap::new(),
            guards: HashSet::new(),
            bodies: HashSet::new(),
            functions: Vec::new(),
            constant: false,
        };
        found.visit_file(&file);
        Ok(found)
    }

    fn within(&mut self, constant: bool, visit: impl FnOnce(&mut Self)) {
        let outside = std::mem::replace(&mut self.constant, constant);
        visit(self);
        self.constant = outside;
    }

    fn function(&mut self, signature: &Signature, block: &Block) {
        self.functions.push(self.lines.range(signature).start..self.lines.range(block).end);
        let constant = signature.constness.is_some();
        if let Some(first) = block.stmts.first().filter(|_| !constant && !is_opaque(&signature.output)) {
            self.bodies.insert(self.lines.range(first).start);
        }
        self.within(constant, |v| {
            v.visit_signature(signature);
            v.visit_block(block);
        });
    }
}

/// Visits a node, with `constant` set to whether the compiler evaluates it.
macro_rules! within {
    ($($visit:ident($node:ty) $constant:literal;)*) => {
        $(fn $visit(&mut self, node: &$node) {
            self.within($constant, |v| visit::$visit(v, node));
        })*
    };
}

impl Visit<'_> for Found {
    within! {
        visit_item_const(syn::ItemConst) true;
        visit_item_static(syn::ItemStatic) true;
        visit_impl_item_const(syn::ImplItemConst) true;
        visit_trait_item_const(syn::TraitItemConst) true;
        visit_variant(syn::Variant) true;
        visit_type_array(syn::TypeArray) true;
        visit_generic_argument(syn::GenericArgument) true;
        visit_const_param(syn::ConstParam) true;
        visit_expr_const(syn::ExprConst) true;
        visit_expr_closure(syn::ExprClosure) false;
    }

    fn visit_item_fn(&mut self, f: &syn::ItemFn) {
        self.function(&f.sig, &f.block);
    }

    fn visit_impl_item_fn(&mut self, f: &syn::ImplItemFn) {
        self.function(&f.sig, &f.block);
    }

    fn visit_trait_item_fn(&mut self, f: &syn::TraitItemFn) {
        match &f.default {
            Some(block) => self.function(&f.sig, block),
            None => visit::visit_trait_item_fn(self, f),
        }
    }

    fn visit_expr_repeat(&mut self, e: &ExprRepeat) {
        self.visit_expr(&e.expr);
        self.within(true, |v| v.visit_expr(&e.len));
    }

    fn visit_expr_binary(&mut self, e: &ExprBinary) {
        if !(self.constant || has_let(&e.left) || has_let(&e.right)) {
            let expression = Expression::Binary {
                whole: self.lines.range(e),
                left: self.lines.range(&e.left),
                right: self.lines.range(&e.right),
                assigns: assigns(&e.op),
            };
            self.expressions.insert(self.lines.range(&e.op).start, expression);
        }
        visit::visit_expr_binary(self, e);
    }

    fn visit_expr_unary(&mut self, e: &ExprUnary) {
        if !self.constant {
            let expression =
                Expression::Unary { whole: self.lines.range(e), operand: self.lines.range(&e.expr) };
            self.expressions.insert(self.lines.range(&e.op).start, expression);
        }
        visit::visit_expr_unary(self, e);
    }

    fn visit_arm(&mut self, arm: &Arm) {
        match &arm.guard {
            _ if self.constant => {}
            Some((_, guard)) => _ = self.guards.insert(self.lines.range(guard).start),
            None => _ = self.arms.insert(self.lines.range(arm).start, self.lines.range(&arm.pat).end),
        }
        visit::visit_arm(self, arm);
    }
}

/// Whether a function returns `impl Trait`. A mutant cannot return early from such a function, because its
/// value would have a different type.
fn is_opaque(output: &ReturnType) -> bool {
    struct Opaque(bool);
    impl Visit<'_> for Opaque {
        fn visit_type_impl_trait(&mut self, _: &syn::TypeImplTrait) {
            self.0 = true;
        }
    }
    let mut opaque = Opaque(false);
    opaque.visit_return_type(output);
    opaque.0
}

/// Whether an expression is a `let`, or a chain of binary operators that contains a `let`.
fn has_let(e: &Expr) -> bool {
    match e {
        Expr::Let(_) => true,
        Expr::Binary(b) => has_let(&b.left) || has_let(&b.right),
        _ => false,
    }
}

fn assigns(op: &BinOp) -> bool {
    use BinOp::{
        AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign, ShlAssign,
        ShrAssign, SubAssign,
    };
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitXorAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}
