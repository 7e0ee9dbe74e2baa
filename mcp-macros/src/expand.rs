//! Tool → tokens: the function as it was written, and a constant beside it that registers it.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Expr, ExprLit, Lit, LitStr};

use crate::args::{MetaLit, Number};
use crate::doc::{Docs, Text};
use crate::errors::Errors;
use crate::item::Item;
use crate::model::{Keys, Limit, Tool};
use crate::param::{Arg, Constraint, Ctx, Default, Param};
use crate::tools::const_of;

/// The whole attribute: parse, build the model, expand. On a mistake the function is given back with the errors.
pub(crate) fn tool(args: TokenStream, tokens: &TokenStream, krate: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let keys = Keys::read(args, &mut errors);
    let mut item = match Item::parse(tokens.clone()) {
        Ok(item) => item,
        Err(error) => {
            errors.push(syn::Error::new(error.span(), "`#[mcp_tool]` goes on a function; put it on an `fn`"));
            let errors = errors.to_compile_errors();
            return quote!(#tokens #errors);
        }
    };
    if let Some(tool) = Tool::build(keys, &item, &mut errors) {
        item.added = added_attributes(&tool, &item);
        let entry = entry(&tool, &item, krate);
        quote!(#item #entry)
    } else {
        let errors = errors.to_compile_errors();
        quote!(#item #errors)
    }
}

/// What the parameters say, for the function's page, and an excuse for their number.
fn added_attributes(tool: &Tool, item: &Item) -> TokenStream {
    let described: Vec<&Arg> = tool.args().filter(|arg| !arg.description.is_empty()).collect();
    let lines = described.iter().map(|arg| {
        let name = format!(" - `{}`: ", arg.ident);
        match &arg.description {
            Text::Written(text) => {
                let line = name + &text.replace('\n', "\n   ");
                quote!(#[doc = #line])
            }
            Text::Macro(text) => quote!(#[doc = ::core::concat!(#name, #text)]),
        }
    });
    let docs = if described.is_empty() || !tool.docs.arguments.is_empty() {
        TokenStream::new()
    } else {
        quote!(#[doc = ""] #[doc = " # Arguments"] #[doc = ""] #(#lines)*)
    };
    let many = (item.sig.inputs.len() > 7).then(|| quote!(#[allow(clippy::too_many_arguments)]));
    quote!(#docs #many)
}

fn entry(tool: &Tool, item: &Item, krate: &TokenStream) -> TokenStream {
    let krate = tool.keys.krate.as_ref().map_or_else(|| krate.clone(), |path| quote!(#path));
    let private = quote!(#krate::__private);
    let Item { vis, .. } = item;
    let (konst, function, name) = (const_of(&tool.function), tool.function.to_string(), &tool.name);
    let function_name = function.trim_start_matches("r#");
    let facts = facts(tool);
    let doc = doc(tool);
    let params = params(tool);
    let (call, output) = (call(tool), output(tool));
    // One item, of a kind that an `impl` may hold too: there the compiler misses the function, and reports nothing else.
    quote! {
        #[doc(hidden)]
        #[allow(
            deprecated, non_upper_case_globals, unit_bindings, unused_qualifications,
            clippy::all, clippy::pedantic, clippy::nursery,
        )]
        #vis const #konst: &#private::ToolEntry = {
            use #private as __mcp;
            #[allow(unused_imports)]
            use __mcp::traits::*;
            #doc
            #params
            #call
            #output
            static __MCP_ENTRY: __mcp::ToolEntry = __mcp::ToolEntry::new(
                #name,
                __mcp::Origin::new(
                    ::core::env!("CARGO_PKG_NAME"),
                    ::core::env!("CARGO_PKG_VERSION"),
                    ::core::module_path!(),
                    #function_name,
                    ::core::file!(),
                    ::core::line!(),
                ),
                __MCP_CALL,
            )
            #facts;
            __mcp::inventory::submit! { __mcp::Registration(&__MCP_ENTRY) }
            &__MCP_ENTRY
        };
    }
}

/// The documentation that the compiler takes apart, since a macro writes it.
fn doc(tool: &Tool) -> TokenStream {
    let Text::Macro(text) = &tool.docs.description else { return TokenStream::new() };
    quote! {
        const __MCP_DOC: &::core::primitive::str = #text;
        static __MCP_SECTIONS: [(&::core::primitive::str, &::core::primitive::str); __mcp::docs::count(__MCP_DOC)] = __mcp::docs::sections(__MCP_DOC);
    }
}

/// Everything that is known of the tool, one call each.
fn facts(tool: &Tool) -> TokenStream {
    let mut facts = told(&tool.keys);
    let mut fact = |tokens: TokenStream| facts.extend(tokens);
    match &tool.docs.description {
        Text::Written(text) if text.is_empty() => {}
        Text::Written(text) => fact(quote!(.description(#text))),
        Text::Macro(_) => fact(quote!(.description(__mcp::docs::description(__MCP_DOC)).sections(&__MCP_SECTIONS))),
    }
    if !tool.docs.sections.is_empty() {
        let sections = tool.docs.sections.iter().map(|(heading, text)| quote!((#heading, #text)));
        fact(quote!(.sections(&[#(#sections),*])));
    }
    if tool.args().next().is_some() {
        fact(quote!(.params(&__MCP_PARAMS)));
    }
    if tool.args().any(|arg| arg.flatten.is_some()) {
        fact(quote!(.flatten(true)));
    }
    let needs: Vec<TokenStream> = tool.params.iter().filter_map(needs).collect();
    if !needs.is_empty() {
        fact(quote!(.needs(&[#(#needs),*])));
    }
    fact(schemas(tool));
    facts
}

/// What the attribute's keys say.
fn told(keys: &Keys) -> TokenStream {
    let mut facts = TokenStream::new();
    let mut fact = |tokens: TokenStream| facts.extend(tokens);
    let texts = [
        ("title", &keys.title),
        ("version", &keys.version),
        ("deprecated_in", &keys.deprecated_in),
        ("replaced_by", &keys.replaced_by),
    ];
    for (setter, text) in texts {
        if let Some(text) = text {
            let setter = format_ident!("{setter}");
            fact(quote!(.#setter(#text)));
        }
    }
    let hints = [keys.read_only, keys.destructive, keys.idempotent, keys.open_world];
    if hints.iter().any(Option::is_some) {
        let hints = hints.map(|hint| hint.map_or(-1_i8, i8::from));
        fact(quote!(.hints(#(#hints),*)));
    }
    for (setter, list) in [("aliases", &keys.aliases), ("tags", &keys.tags), ("allow", &keys.allow)] {
        if !list.is_empty() {
            let setter = format_ident!("{setter}");
            fact(quote!(.#setter(&[#(#list),*])));
        }
    }
    if !keys.meta.is_empty() {
        let pairs = keys.meta.iter().map(|(key, value)| meta(key, value));
        fact(quote!(.meta(&[#(#pairs),*])));
    }
    match keys.timeout {
        Some(Limit::Millis(millis)) => {
            fact(quote!(.timeout(__mcp::Timeout::After(__mcp::Duration::from_millis(#millis)))));
        }
        Some(Limit::Never) => fact(quote!(.timeout(__mcp::Timeout::Never))),
        None => {}
    }
    if let Some(bytes) = &keys.max_result {
        fact(quote!(.max_result(#bytes)));
    }
    if let Some(seconds) = keys.cache_ttl {
        fact(quote!(.cache_ttl(#seconds)));
    }
    let flags = [
        ("hidden", keys.hidden),
        ("inline", keys.inline.is_some()),
        ("allow_unknown_arguments", keys.allow_unknown_arguments),
    ];
    for (setter, _) in flags.into_iter().filter(|(_, set)| *set) {
        let setter = format_ident!("{setter}");
        fact(quote!(.#setter(true)));
    }
    facts
}

fn meta(key: &LitStr, value: &MetaLit) -> TokenStream {
    let value = match value {
        MetaLit::Str(text) => quote!(Str(#text)),
        MetaLit::Bool(yes) => quote!(Bool(#yes)),
        MetaLit::Int(number) => quote!(Int(#number)),
        MetaLit::Float(number) => quote!(Float(#number)),
    };
    quote!((#key, __mcp::MetaValue::#value))
}

/// The schemas that were written out, and that of the return type.
fn schemas(tool: &Tool) -> TokenStream {
    let input = tool
        .keys
        .input_schema
        .as_ref()
        .map(|schema| quote_spanned!(schema.span()=> .input_schema(|| __mcp::Value::from(#schema))));
    let output = if let Some(schema) = &tool.keys.output_schema {
        quote_spanned!(schema.span()=> .output_schema(|| __mcp::Some(__mcp::OutputSchema::explicit(#schema))).explicit_output(true))
    } else {
        quote!(.output_schema(|| __mcp_output(true).1))
    };
    quote!(#input #output .output_shape(|| __mcp_output(false).0))
}

/// The function that tells the shape of what the tool returns and, where it is asked for, the schema.
fn output(tool: &Tool) -> TokenStream {
    let function = &tool.function;
    let by = if tool.is_async { quote!(by_future) } else { quote!(by) };
    let any = tool.params.iter().map(|_| quote!(__mcp::any()));
    // The type is not named: where it is misspelt, the function says so, and once is enough.
    quote_spanned! {tool.returns=>
        fn __mcp_output(__with_schema: bool) -> (__mcp::Shape, __mcp::Option<__mcp::OutputSchema>) {
            let __success = __mcp::Outcome::#by(|| #function(#(#any),*)).kind().success();
            let __shape = __success.shape();
            let __schema = if __with_schema { __success.schema(&__shape) } else { __mcp::None };
            (__shape, __schema)
        }
    }
}

/// The state that a `#[ctx]` parameter needs.
fn needs(param: &Param) -> Option<TokenStream> {
    match param {
        Param::Arg(_) => None,
        Param::Ctx(Ctx::Ref(ty)) => Some(quote_spanned!(ty.span()=> |needs| __mcp::CtxRef::<#ty>::NEW.needs(needs))),
        Param::Ctx(Ctx::Clone(ty)) => {
            Some(quote_spanned!(ty.span()=> |needs| needs.push(__mcp::StateType::of::<#ty>())))
        }
        Param::Ctx(Ctx::From(ty)) => {
            Some(quote_spanned!(ty.span()=> |needs| needs.extend(<#ty as __mcp::FromContext>::requires())))
        }
    }
}

/// The table of parameters, and the functions that it points to.
fn params(tool: &Tool) -> TokenStream {
    let count = tool.args().count();
    if count == 0 {
        return TokenStream::new();
    }
    let defaults = tool.args().enumerate().filter_map(|(index, arg)| default_fn(index, arg));
    let checks = tool.args().flat_map(fitness);
    let params = tool.args().enumerate().map(|(index, arg)| param(index, arg, &tool.docs));
    quote! {
        #(#defaults)*
        #(#checks)*
        static __MCP_PARAMS: [__mcp::Param; #count] = [#(#params),*];
    }
}

fn default_name(index: usize) -> Ident {
    format_ident!("__mcp_default_{index}")
}

fn default_fn(index: usize, arg: &Arg) -> Option<TokenStream> {
    let (name, slot, ty) = (default_name(index), &arg.slot, &arg.ty);
    let value = match arg.default.as_ref()? {
        Default::OfType(span) => quote_spanned!(*span=> ::core::default::Default::default()),
        Default::Expr(expr @ Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => from_text(expr, &text.value()),
        Default::Expr(expr) => quote!(#expr),
    };
    let value = if arg.borrows { quote_spanned!(arg.span=> __mcp::Lent::<#ty>::NEW.own(#value)) } else { value };
    Some(quote!(fn #name() -> #slot { #value }))
}

/// A default that is written as a text. A trait of its own tells what to write where the type takes no text.
fn from_text(expr: &Expr, text: &str) -> TokenStream {
    let capitalized = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    };
    let variant: String = text.split(['_', '-', ' ']).map(capitalized).collect();
    let remedy = match syn::parse_str::<Ident>(&variant) {
        Ok(variant) => format!("for a variant write `default = {{Self}}::{variant}`"),
        Err(_) => "write it without quotes".to_owned(),
    };
    let note = format!("`default` takes a Rust expression of the parameter's type; {remedy}");
    let text = quote!(::core::convert::From<&'static ::core::primitive::str>);
    quote_spanned! {expr.span()=> {
        #[diagnostic::on_unimplemented(
            message = "a text cannot be the default of a `{Self}`", label = "not a `{Self}`", note = #note
        )]
        trait FromText: #text {}
        #[diagnostic::do_not_recommend]
        impl<T: #text> FromText for T {}
        fn from_text<T: FromText>(text: &'static ::core::primitive::str) -> T {
            T::from(text)
        }
        from_text(#expr)
    }}
}

/// Stops the compiler where a constraint cannot fit the type.
fn fitness(arg: &Arg) -> Vec<TokenStream> {
    let slot = &arg.slot;
    let check = |(key, constraint): &(Ident, Constraint)| {
        let (kind, what) = match constraint {
            Constraint::Min(_) | Constraint::Max(_) => ("Number", "a number"),
            Constraint::MinItems(_) | Constraint::MaxItems(_) => ("List", "a list"),
            _ => ("Text", "a text"),
        };
        let kind = format_ident!("{kind}");
        let text = format!("`{key}` does not fit the type of `{}`, which is not {what}; remove it", arg.ident);
        quote_spanned!(key.span()=> const _: () = ::core::assert!(__mcp::KindOf::<#slot>::KIND.fits(__mcp::TypeKind::#kind), #text);)
    };
    arg.constraints.iter().map(check).collect()
}

fn param(index: usize, arg: &Arg, docs: &Docs) -> TokenStream {
    let (name, slot) = (&arg.name, &arg.slot);
    let mut param = quote_spanned!(arg.span=> __mcp::Param::of::<#slot>(#name));
    if !arg.aliases.is_empty() {
        let aliases = &arg.aliases;
        param.extend(quote!(.aliases(&[#(#aliases),*])));
    }
    match (&arg.description, &docs.description) {
        (Text::Written(text), Text::Macro(_)) if text.is_empty() => {
            let name = arg.ident.unraw().to_string();
            param.extend(quote!(.description(__mcp::docs::argument(__MCP_DOC, #name))));
        }
        (Text::Written(text), _) if text.is_empty() => {}
        (Text::Written(text), _) => param.extend(quote!(.description(#text))),
        (Text::Macro(text), _) => param.extend(quote!(.description(__mcp::docs::trimmed(#text)))),
    }
    if arg.default.is_some() {
        let default = default_name(index);
        param.extend(quote_spanned!(arg.span=> .default(|| __mcp::Shown::<#slot>::NEW.json(#default))));
    }
    if !arg.examples.is_empty() {
        let examples = arg.examples.iter().map(|example| quote_spanned!(example.span()=> || __mcp::json(#example)));
        param.extend(quote!(.examples(&[#(#examples),*])));
    }
    if !arg.constraints.is_empty() {
        let constraints = arg.constraints.iter().map(|(_, constraint)| constraint_tokens(constraint));
        param.extend(quote!(.constraints(&[#(#constraints),*]).fitted(__mcp::KindOf::<#slot>::KIND.is_known())));
    }
    if let Some(header) = &arg.header {
        param.extend(quote!(.header(#header)));
    }
    if arg.secret {
        param.extend(quote!(.secret(true)));
    }
    if let Some(schema) = &arg.schema {
        param.extend(quote_spanned!(schema.span()=> .explicit_schema(|| __mcp::Value::from(#schema))));
    }
    param
}

fn constraint_tokens(constraint: &Constraint) -> TokenStream {
    let bound = |number: &Number| match number {
        Number::Int(number) => quote!(__mcp::Bound::Int(#number)),
        Number::Float(number) => quote!(__mcp::Bound::Float(#number)),
    };
    let constraint = match constraint {
        Constraint::Min(number) => {
            let bound = bound(number);
            quote!(Min(#bound))
        }
        Constraint::Max(number) => {
            let bound = bound(number);
            quote!(Max(#bound))
        }
        Constraint::MinLength(length) => quote!(MinLength(#length)),
        Constraint::MaxLength(length) => quote!(MaxLength(#length)),
        Constraint::MinItems(count) => quote!(MinItems(#count)),
        Constraint::MaxItems(count) => quote!(MaxItems(#count)),
        Constraint::Pattern(pattern) => quote!(Pattern(#pattern)),
        Constraint::Format(format) => quote!(Format(#format)),
        Constraint::OneOf(values) => quote!(OneOf(&[#(#values),*])),
    };
    quote!(__mcp::Constraint::#constraint)
}

/// The function that reads the arguments, calls the tool, and writes what it returns.
fn call(tool: &Tool) -> TokenStream {
    let read = read(tool);
    let (keep, passed) = pass(tool);
    let function = &tool.function;
    let span = tool.returns;
    let wait = tool.is_async.then(|| quote!(.await));
    let called = quote_spanned!(function.span()=> #function(#(#passed),*) #wait);
    let [cx, args, out] = ["__cx", "__args", "__out"].map(variable);
    let finish = quote_spanned! {span=>
        let __returned = #called;
        let __value = __mcp::Outcome::of(&__returned).kind().split(__returned)?;
        __mcp::Success::of(&__value).write(__value, #out)
    };
    let pause = tool.is_async.then(|| {
        quote!(if __args.pause {
            __mcp::pause().await;
        })
    });
    let body = quote! {
        #read
        if __args.is_read() {
            return __mcp::Ok(__mcp::Returned::Nothing);
        }
        #pause
        #keep
        #finish
    };
    if tool.is_async {
        quote_spanned! {span=>
            fn __mcp_call<'a>(
                #cx: &'a __mcp::ToolContext,
                #args: __mcp::Input<'a>,
                #out: &'a mut __mcp::Vec<u8>,
            ) -> __mcp::BoxFuture<'a, __mcp::Result<__mcp::Returned, __mcp::CallError>> {
                __mcp::Box::pin(async move { #body })
            }
            const __MCP_CALL: __mcp::Call = __mcp::Call::Async(__mcp_call);
        }
    } else {
        quote! {
            fn __mcp_call(
                __cx: &__mcp::ToolContext,
                __args: __mcp::Input<'_>,
                __out: &mut __mcp::Vec<u8>,
            ) -> __mcp::Result<__mcp::Returned, __mcp::CallError> {
                #body
            }
            const __MCP_CALL: __mcp::Call = __mcp::Call::Sync(__mcp_call);
        }
    }
}

/// A variable of the expansion. Named at the place of the user's tokens, it would not be seen by those of a
/// `macro_rules!`.
fn variable(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

fn slot_name(index: usize) -> Ident {
    format_ident!("__a{index}")
}

/// Fills a slot for each argument.
fn read(tool: &Tool) -> TokenStream {
    if let Some(arg) = tool.args().find(|arg| arg.flatten.is_some()) {
        let (slot, ty) = (slot_name(0), &arg.slot);
        let (allow_unknown, args) = (tool.keys.allow_unknown_arguments, variable("__args"));
        return quote_spanned! {arg.span=>
            static __MCP_FIELDS: __mcp::Fields = __mcp::Fields::new();
            let #slot = __mcp::Flattened::<#ty>::NEW.read(#args.json, &__MCP_PARAMS[0], #allow_unknown, &__MCP_FIELDS)?;
        };
    }
    let slots: Vec<Ident> = (0..tool.args().count()).map(slot_name).collect();
    let types = tool.args().map(|arg| &arg.slot);
    let allow_unknown = tool.keys.allow_unknown_arguments;
    let params = if slots.is_empty() { quote!(&[]) } else { quote!(&__MCP_PARAMS) };
    quote! {
        #(let mut #slots = __mcp::ArgSlot::<#types>::new();)*
        __mcp::read_arguments(__args.json, #params, #allow_unknown, &mut [#(#slots.slot()),*])?;
    }
}

/// What is kept while the tool runs, and what it is called with.
fn pass(tool: &Tool) -> (TokenStream, Vec<TokenStream>) {
    let mut keep = TokenStream::new();
    let mut passed = Vec::new();
    let mut index = 0;
    for param in &tool.params {
        match param {
            Param::Arg(arg) => {
                let slot = slot_name(index);
                if arg.flatten.is_none() {
                    keep.extend(take(index, arg));
                }
                passed.push(if arg.borrows { quote_spanned!(arg.span=> __mcp::lend(&#slot)) } else { quote!(#slot) });
                index += 1;
            }
            Param::Ctx(ctx) => {
                let (name, value) = (format_ident!("__c{}", passed.len()), injected(ctx, tool.is_async));
                keep.extend(quote!(let #name = #value;));
                passed.push(quote!(#name));
            }
        }
    }
    (keep, passed)
}

fn take(index: usize, arg: &Arg) -> TokenStream {
    let slot = slot_name(index);
    if arg.default.is_some() {
        let default = default_name(index);
        quote!(let #slot = #slot.take_or(#default);)
    } else {
        quote!(let #slot = #slot.take();)
    }
}

fn injected(ctx: &Ctx, is_async: bool) -> TokenStream {
    let cx = variable("__cx");
    match ctx {
        Ctx::Ref(ty) => quote_spanned!(ty.span()=> __mcp::CtxRef::<#ty>::NEW.get(#cx)?),
        Ctx::Clone(ty) => quote_spanned!(ty.span()=> __mcp::cloned_state::<#ty>(#cx)?),
        Ctx::From(ty) if is_async => {
            quote_spanned!(ty.span()=> <#ty as __mcp::FromContext>::from_context(#cx).await?)
        }
        Ctx::From(ty) => {
            quote_spanned!(ty.span()=> __mcp::block_on(<#ty as __mcp::FromContext>::from_context(#cx))?)
        }
    }
}
