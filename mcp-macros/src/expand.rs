//! Generates the code of a tool: the function, and a constant next to it that registers it.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, ExprLit, Lit, LitStr};

use crate::doc::{Docs, Text};
use crate::errors::Errors;
use crate::function::Function;
use crate::keys::{Keys, Setting, TOOL_KEYS, Target};
use crate::model::Tool;
use crate::param::{Arg, CtxKind, Param};
use crate::tools::const_of;

/// Expands the attribute. If there are errors, returns the function with them.
pub(crate) fn tool(args: TokenStream, tokens: &TokenStream, krate: &TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let keys = Keys::read(&TOOL_KEYS, vec![args], &mut errors);
    let Some(mut function) = errors.take(Function::parse(tokens.clone())) else {
        return quote!(#tokens #errors);
    };
    let Some(tool) = Tool::build(keys, &function, &mut errors) else {
        return quote!(#function #errors);
    };
    function.attrs.extend(added_attributes(&tool));
    let entry = entry(&tool, &function, krate);
    quote!(#function #entry)
}

/// Attributes for the function: the descriptions of its parameters, for rustdoc, and an `allow` for many parameters.
fn added_attributes(tool: &Tool) -> Vec<Attribute> {
    let described = tool.args.iter().filter(|arg| !arg.description.is_empty() && tool.docs.arguments.is_empty());
    let heading = described.clone().next().map(|_| quote!(#[doc = ""] #[doc = " # Arguments"] #[doc = ""]));
    let lines = described.map(|arg| {
        let name = format!(" - `{}`: ", arg.ident);
        match &arg.description {
            Text::Written(text) => (name + &text.replace('\n', "\n   ")).to_token_stream(),
            Text::Macro(text) => quote!(::core::concat!(#name, #text)),
        }
    });
    let allow = (tool.params.len() > 7).then(|| quote!(#[allow(clippy::too_many_arguments)]));
    syn::parse_quote!(#heading #(#[doc = #lines])* #allow)
}

fn entry(tool: &Tool, function: &Function, krate: &TokenStream) -> TokenStream {
    let krate = tool.keys.get("crate").and_then(|setting| setting.tokens.as_ref()).unwrap_or(krate);
    let private = quote!(#krate::__private);
    let (vis, konst, name) = (&function.vis, const_of(&tool.function), &tool.name);
    let function_name = tool.function.unraw().to_string();
    let (doc, params, output, setters) = (doc(tool), params(tool), output(tool), entry_setters(tool));
    let (call_fn, kind) = (call_fn(tool), if tool.is_async { quote!(Async) } else { quote!(Sync) });
    // A single `const` is valid in an `impl` as well, where the compiler only reports that it cannot find the function.
    quote! {
        #[doc(hidden)]
        #[allow(deprecated, long_running_const_eval, non_upper_case_globals, unit_bindings, unused_qualifications)]
        #[allow(clippy::all, clippy::pedantic, clippy::nursery)]
        #vis const #konst: &#private::ToolEntry = {
            use #private as __mcp;
            #[allow(unused_imports)]
            use __mcp::traits::*;
            #doc #params #call_fn #output
            static __MCP_ENTRY: __mcp::ToolEntry = __mcp::ToolEntry::new(#name, __mcp::Origin::new(
                ::core::env!("CARGO_PKG_NAME"), ::core::env!("CARGO_PKG_VERSION"),
                ::core::module_path!(), #function_name, ::core::file!(), ::core::line!(),
            ), __mcp::Call::#kind(__mcp_call)).params(&__MCP_PARAMS).output(__mcp_output) #setters;
            __mcp::inventory::submit! { __mcp::Registration(&__MCP_ENTRY) }
            &__MCP_ENTRY
        };
    }
}

/// The documentation, if the compiler has to split it.
fn doc(tool: &Tool) -> TokenStream {
    let Text::Macro(text) = &tool.docs.description else { return TokenStream::new() };
    quote! {
        const __MCP_DOC: &::core::primitive::str = #text;
        static __MCP_SECTIONS: [(&::core::primitive::str, &::core::primitive::str); __mcp::docs::count(__MCP_DOC)] = __mcp::docs::sections(__MCP_DOC);
    }
}

/// A call of a setter with a list, unless the list is empty.
fn list_setter(setter: &str, items: impl Iterator<Item = impl ToTokens>) -> Option<TokenStream> {
    let (setter, items) = (format_ident!("{setter}"), items.collect::<Vec<_>>());
    (!items.is_empty()).then(|| quote!(.#setter(&[#(#items),*])))
}

/// The calls of the setters for keys.
fn key_setters(keys: &Keys) -> TokenStream {
    let setters = keys.settings.iter().filter(|setting| matches!(setting.key.target, Target::Setter)).map(|setting| {
        let (setter, value) = (format_ident!("{}", setting.key.name), &setting.tokens);
        quote!(.#setter(#value))
    });
    setters.collect()
}

/// The calls of all setters of the entry.
fn entry_setters(tool: &Tool) -> TokenStream {
    let keys = key_setters(&tool.keys);
    let deprecated_in = tool.deprecated_in.as_ref().map(|version| quote!(.deprecated_in(#version)));
    let description = match &tool.docs.description {
        Text::Written(text) => (!text.is_empty()).then(|| quote!(.description(#text))),
        Text::Macro(_) => Some(quote!(.description(__mcp::docs::description(__MCP_DOC)).sections(&__MCP_SECTIONS))),
    };
    let sections = tool.docs.sections.iter().map(|(heading, text)| quote!((#heading, #text)));
    let sections = list_setter("sections", sections);
    let flatten = is_flattened(tool).then(|| quote!(.flatten(true)));
    let needs = list_setter("needs", tool.params.iter().filter_map(needs));
    quote!(#keys #deprecated_in #description #sections #flatten #needs)
}

/// The function that returns the shape of the tool's output and, on request, its schema.
fn output(tool: &Tool) -> TokenStream {
    let function = &tool.function;
    let by = if tool.is_async { quote!(by_future) } else { quote!(by) };
    let any = tool.params.iter().map(|_| quote!(__mcp::any()));
    // The return type is inferred: if it were repeated here, the compiler would report a misspelt one twice.
    quote_spanned! {tool.return_span=>
        fn __mcp_output(__with_schema: bool) -> __mcp::Output {
            let __success = __mcp::Outcome::#by(|| #function(#(#any),*)).kind().success();
            __mcp::output(__with_schema, __success.shape(), __success.schema())
        }
    }
}

/// The state that a `#[ctx]` parameter needs.
fn needs(param: &Param) -> Option<TokenStream> {
    let Param::Ctx { kind, ty } = param else { return None };
    Some(match kind {
        CtxKind::Ref => quote_spanned!(ty.span()=> |needs| __mcp::CtxRef::<#ty>::NEW.needs(needs)),
        CtxKind::Clone => quote_spanned!(ty.span()=> |needs| needs.push(__mcp::StateType::of::<#ty>())),
        CtxKind::From => quote_spanned!(ty.span()=> |needs| needs.extend(<#ty as __mcp::FromContext>::requires())),
    })
}

/// The table of parameters, and the functions that it points to.
fn params(tool: &Tool) -> TokenStream {
    let count = tool.args.len();
    let defaults = tool.args.iter().filter_map(default_fn);
    let checks = tool.args.iter().flat_map(constraint_checks);
    let params = tool.args.iter().map(|arg| param(arg, &tool.docs));
    quote! {
        #(#defaults)* #(#checks)*
        static __MCP_PARAMS: [__mcp::Param; #count] = [#(#params),*];
    }
}

/// The name of the function that returns the default, if there is one.
fn default_name(arg: &Arg) -> Option<Ident> {
    arg.keys.get("default").map(|_| format_ident!("__mcp_default_{}", arg.index))
}

fn default_fn(arg: &Arg) -> Option<TokenStream> {
    let (name, slot, ty) = (default_name(arg)?, &arg.ty.slot, &arg.ty.ty);
    let value = match arg.keys.value::<Expr>("default") {
        None => quote_spanned!(arg.keys.get("default")?.ident.span()=> ::core::default::Default::default()),
        Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => from_text(&text),
        Some(expr) => quote!(#expr),
    };
    let value = if arg.ty.borrows { quote_spanned!(arg.span=> __mcp::Lent::<#ty>::NEW.own(#value)) } else { value };
    Some(quote!(fn #name() -> #slot { #value }))
}

/// Converts `snake_case`, `kebab-case` or words to `CamelCase`.
fn camel_case(text: &str) -> String {
    let capitalized = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    };
    text.split(['_', '-', ' ']).map(capitalized).collect()
}

/// A default that is a string literal. The trait improves the error for types that cannot be created from a string.
fn from_text(default: &LitStr) -> TokenStream {
    // The compiler reports text that is not tokens, such as `it's`, by itself.
    let is_odd = |letter: char| !letter.is_alphanumeric() && !"_- ".contains(letter);
    let remedy = match syn::parse_str::<Ident>(&camel_case(&default.value().replace(is_odd, "?"))) {
        Ok(variant) => format!("for a variant write `default = {{Self}}::{variant}`"),
        Err(_) => "write it without quotes".to_owned(),
    };
    let note = format!("`default` takes a Rust expression of the parameter's type; {remedy}");
    let text = quote!(::core::convert::From<&'static ::core::primitive::str>);
    quote_spanned! {default.span()=> {
        #[diagnostic::on_unimplemented(
            message = "a string cannot be the default of a `{Self}`", label = "not a `{Self}`", note = #note
        )]
        trait FromText: #text {}
        #[diagnostic::do_not_recommend]
        impl<T: #text> FromText for T {}
        fn from_text<T: FromText>(text: &'static ::core::primitive::str) -> T { T::from(text) }
        from_text(#default)
    }}
}

/// Compile-time assertions that each constraint fits the type.
fn constraint_checks(arg: &Arg) -> impl Iterator<Item = TokenStream> {
    arg.constraints().map(|(constraint, kind)| {
        let (key, slot, argument) = (&constraint.ident, &arg.ty.slot, &arg.ident);
        let expected = if kind == "Text" { "string" } else { &kind.to_lowercase() };
        let kind = format_ident!("{kind}");
        let message = format!("`{key}` does not fit the type of `{argument}`, which is not a {expected}; remove it");
        quote_spanned!(key.span()=> const _: () = ::core::assert!(__mcp::KindOf::<#slot>::KIND.fits(__mcp::TypeKind::#kind), #message);)
    })
}

fn param(arg: &Arg, docs: &Docs) -> TokenStream {
    let (name, slot) = (&arg.name, &arg.ty.slot);
    let param = quote_spanned!(arg.span=> __mcp::Param::of::<#slot>(#name).plain(__mcp::KindOf::<#slot>::PLAIN));
    let aliases = list_setter("aliases", arg.keys.all("alias").filter_map(Setting::value::<LitStr>));
    let description = match (&arg.description, &docs.description) {
        (Text::Written(text), Text::Macro(_)) if text.is_empty() => {
            let name = arg.ident.unraw().to_string();
            Some(quote!(.description(__mcp::docs::argument(__MCP_DOC, #name))))
        }
        (Text::Written(text), _) => (!text.is_empty()).then(|| quote!(.description(#text))),
        (Text::Macro(text), _) => Some(quote!(.description(__mcp::docs::trimmed(#text)))),
    };
    let default = default_name(arg)
        .map(|default| quote_spanned!(arg.span=> .default(|| __mcp::Shown::<#slot>::NEW.json(#default))));
    let examples = arg.keys.all("example").filter_map(Setting::value::<Expr>);
    let examples = examples.map(|example| quote_spanned!(example.span()=> || __mcp::json(#example)));
    let examples = list_setter("examples", examples);
    let constraints = arg.constraints().map(|(constraint, _)| {
        let (variant, value) = (format_ident!("{}", camel_case(constraint.key.name)), &constraint.tokens);
        quote!(__mcp::Constraint::#variant(#value))
    });
    let constraints = list_setter("constraints", constraints)
        .map(|constraints| quote!(#constraints.fitted(__mcp::KindOf::<#slot>::KIND.is_known())));
    let keys = key_setters(&arg.keys);
    quote!(#param #aliases #description #default #examples #constraints #keys)
}

/// The function that reads the arguments, calls the tool, and writes its result.
fn call_fn(tool: &Tool) -> TokenStream {
    let (function, span, read) = (&tool.function, tool.return_span, read(tool));
    let takes = tool.args.iter().map(|arg| {
        let (slot, default) = (slot_name(arg), default_name(arg));
        let take = default.map_or(quote!(take()), |default| quote!(take_or(#default)));
        quote!(let #slot = #slot.#take;)
    });
    let params = tool.params.iter().enumerate();
    let (contexts, passed): (Vec<_>, Vec<_>) = params.map(|(position, param)| pass(tool, position, param)).unzip();
    let wait = tool.is_async.then(|| quote!(.await));
    let call = quote_spanned!(function.span()=> #function(#(#passed),*) #wait);
    // With the span of the user's tokens, which may come from a `macro_rules!`, hygiene would hide the parameter
    // `__out`.
    let out = format_ident!("__out");
    let (write, out) = if tool.is_async { (quote!(write_async), None) } else { (quote!(write), Some(quote!(, #out))) };
    let run = quote_spanned! {span=>
        #(#contexts)*
        let __returned = #call;
        let __kind = __mcp::Outcome::of(&__returned).kind();
        __mcp::#write(__returned, __kind.failure(), __kind.success().writer() #out)
    };
    if !tool.is_async {
        return quote! {
            fn __mcp_call(__cx: &__mcp::ToolContext, __args: __mcp::Input<'_>, __out: &mut __mcp::Vec<u8>) -> __mcp::Result<__mcp::Returned, __mcp::CallError> {
                #read { return __mcp::Ok(__mcp::Returned::Nothing); }
                #(#takes)* #run
            }
        };
    }
    let future = quote_spanned!(span=> __mcp::Box::pin(async move { #run }));
    quote! {
        fn __mcp_call(__context: __mcp::ToolContext, __args: __mcp::Input<'_>) -> __mcp::Result<__mcp::Option<__mcp::ToolFuture>, __mcp::CallError> {
            #read { return __mcp::Ok(__mcp::None); }
            #(#takes)*
            __mcp::Ok(__mcp::Some(#future))
        }
    }
}

fn slot_name(arg: &Arg) -> Ident {
    format_ident!("__a{}", arg.index)
}

fn is_flattened(tool: &Tool) -> bool {
    tool.args.iter().any(|arg| arg.keys.flag("flatten").is_some())
}

/// Reads the arguments into slots; ends with an `if` whose block is for a tool that is not to run.
fn read(tool: &Tool) -> TokenStream {
    let allow_unknown = tool.keys.flag("allow_unknown_arguments").is_some();
    let fields = is_flattened(tool).then(|| quote! { static __MCP_FIELDS: __mcp::Fields = __mcp::Fields::new(); });
    let fields_arg = if fields.is_some() { quote!(__mcp::Some(&__MCP_FIELDS)) } else { quote!(__mcp::None) };
    let slots: Vec<Ident> = tool.args.iter().map(slot_name).collect();
    let types = tool.args.iter().map(|arg| &arg.ty.slot);
    let is_secret = tool.args.iter().any(|arg| arg.keys.flag("secret").is_some());
    let read = if is_secret { quote!(read_secret) } else { quote!(read) };
    quote! {
        #(let mut #slots = __mcp::ArgSlot::<#types>::new();)*
        #fields
        if !__args.#read(#fields_arg, &__MCP_PARAMS, #allow_unknown, &mut [#(#slots.slot()),*])?
    }
}

/// The variable for a value from the context, and the argument that is passed to the function.
fn pass(tool: &Tool, position: usize, param: &Param) -> (TokenStream, TokenStream) {
    match param {
        Param::Arg(index) => {
            let (arg, slot) = (&tool.args[*index], slot_name(&tool.args[*index]));
            let passed = if arg.ty.borrows { quote_spanned!(arg.span=> __mcp::lend(&#slot)) } else { quote!(#slot) };
            (TokenStream::new(), passed)
        }
        Param::Ctx { kind, ty } => {
            let name = format_ident!("__c{position}");
            let cx = if tool.is_async { quote!(&__context) } else { quote!(__cx) };
            let from_context = quote_spanned!(ty.span()=> <#ty as __mcp::FromContext>::from_context(#cx));
            let value = match kind {
                CtxKind::Ref => quote_spanned!(ty.span()=> __mcp::CtxRef::<#ty>::NEW.get(#cx)?),
                CtxKind::Clone => quote_spanned!(ty.span()=> __mcp::cloned_state::<#ty>(#cx)?),
                CtxKind::From if tool.is_async => quote_spanned!(ty.span()=> #from_context.await?),
                CtxKind::From => quote_spanned!(ty.span()=> __mcp::block_on(#from_context)?),
            };
            (quote!(let #name = #value;), quote!(#name))
        }
    }
}
