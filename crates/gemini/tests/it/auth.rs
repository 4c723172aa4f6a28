//! How Gemini CLI would sign in.

use lapidary_gemini::auth::SignInMethod;

use crate::machine::Machine;

fn selected(method: &str) -> Machine {
    let settings = format!(r#"{{"security": {{"auth": {{"selectedType": "{method}"}}}}}}"#);
    Machine::new().file("home/.gemini/settings.json", &settings)
}

#[track_caller]
fn check(machine: &Machine, expected: &str) {
    let told = match machine.auth() {
        SignInMethod::Ready { method, by } => format!("{method}: {by}"),
        SignInMethod::Doubtful { method, missing } => format!("{method}? {missing}"),
        SignInMethod::Unusable { method, .. } => format!("{method}!"),
        SignInMethod::None => "none".to_owned(),
    };
    assert_eq!(told, expected);
}

#[test]
fn settings_choose_and_variables_choose_where_they_do_not() {
    let key = |machine: Machine| machine.with("GEMINI_API_KEY", "secret");
    check(&Machine::new(), "none");
    check(
        &key(Machine::new()),
        "gemini-api-key: GEMINI_API_KEY is set",
    );
    check(
        &key(selected("gemini-api-key")),
        "gemini-api-key: GEMINI_API_KEY is set",
    );
    check(&key(selected("vertex-ai")), "vertex-ai!");
    check(
        &selected("gemini-api-key"),
        "gemini-api-key? GEMINI_API_KEY",
    );
    check(
        &selected("oauth-personal"),
        "oauth-personal? oauth_creds.json",
    );
    check(&selected("telepathy"), "telepathy!");
    check(&Machine::new().with("GEMINI_API_KEY", ""), "none");
    check(
        &key(Machine::new()).with("GOOGLE_GEMINI_BASE_URL", "http://x"),
        "gateway!",
    );
}

#[test]
fn each_sign_in_method_needs_its_own_credentials() {
    let signed_in = selected("oauth-personal").file("home/.gemini/oauth_creds.json", "{}");
    check(
        &signed_in,
        "oauth-personal: signed in: oauth_creds.json exists",
    );
    let vertex = Machine::new().with("GOOGLE_GENAI_USE_VERTEXAI", "true");
    check(&vertex, "vertex-ai!");
    check(
        &vertex.with("GOOGLE_API_KEY", "secret"),
        "vertex-ai: GOOGLE_API_KEY is set",
    );
    let project = selected("vertex-ai")
        .with("GOOGLE_CLOUD_PROJECT", "p")
        .with("GOOGLE_CLOUD_LOCATION", "l");
    let expected = "vertex-ai: GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION are set";
    check(&project, expected);
}

#[test]
fn a_key_may_lie_in_a_file_on_the_way_up() {
    let expected = "gemini-api-key: GEMINI_API_KEY is set";
    check(
        &Machine::new().file("home/code/.env", "GEMINI_API_KEY=secret\n"),
        expected,
    );
    check(
        &Machine::new().file("home/.env", "GEMINI_API_KEY=secret\n"),
        expected,
    );
    // One in `.gemini` counts only where the folder is trusted.
    let hidden = Machine::new().file("home/.gemini/.env", "GEMINI_API_KEY=secret\n");
    check(&hidden, "none");
    check(&hidden.with("GEMINI_CLI_TRUST_WORKSPACE", "true"), expected);
}
