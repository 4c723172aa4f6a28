//! Text that looks like secrets and is none: hashes, ids, paths, encoded pictures, and code and prose about secrets.

use super::SecretContext::{self, Code, Environment, Json, Prose, Url, Yaml};
use super::values::fill_template;
use crate::mutate::SeededRng;

const TEMPLATES: &[(SecretContext, &str)] = &[
    (Prose, "Fixed in <<sha>>, see also <<short>>."),
    (Prose, "The session is <<uuid>>, started by <<word>>."),
    (
        Prose,
        "The password is required and must have at least 12 characters.",
    ),
    (
        Prose,
        "Your password is: at least 8 characters, one digit2 symbol.",
    ),
    (
        Prose,
        "Set the token to expire in 3600s; the token is base64-encoded and signed with HS256.",
    ),
    (Prose, "The secret is stored as sha256-hash in <<path>>."),
    (Prose, "password: the word that you type at <<host>>"),
    (
        Prose,
        "I renamed `api_key` to `<<ident>>` in <<path>>:<<number>>.",
    ),
    (Prose, "Tokens: 12345 in, 678 out, 90 cached."),
    (Prose, "sha256:<<sha256>>  <<word>>.tar.gz"),
    (
        Prose,
        "Use your own API key: see https://<<host>>/docs/api-keys-v2",
    ),
    (
        Prose,
        "the token <<Ident>> comes from the lexer, password <<ident>> from the form",
    ),
    (Prose, "![picture](data:image/png;base64,<<image>>)"),
    (
        Prose,
        "Passwords are hashed with argon2id, secrets with pbkdf2-sha512.",
    ),
    (Prose, "The key is to keep <<word>>2<<word>> small."),
    (
        Code,
        "let token = lexer.next_token()?; let <<ident>> = <<Ident>>(token);",
    ),
    (Code, "password: string; token?: Token<<Word>>2;"),
    (Code, "const hash = '<<sha>>';"),
    (
        Code,
        "const password = await bcrypt.hash(req.body.password, 10);",
    ),
    (Code, "api_key = os.environ[\"<<Word>>_API_KEY\"]"),
    (
        Code,
        "const apiKey = config.get('services.<<word>>.apiKey2');",
    ),
    (Code, "token = self.tokens[self.position2 + 1]"),
    (
        Code,
        "fn password_hash(secret: &SecretString, key: &Key256) -> Hash {",
    ),
    (
        Code,
        "if token.kind == TokenKind::Ident2 { self.secret = None; }",
    ),
    (Code, "use crate::<<word>>::token::<<Word>>Token2;"),
    (Code, "assert_eq!(digest, \"<<sha256>>\");"),
    (
        Code,
        "<input type=\"password\" name=\"password\" placeholder=\"Enter your password\">",
    ),
    (Code, "password_label = 'Enter a new password'"),
    (
        Code,
        "PRIMARY_KEY = '<<ident>>'\nFOREIGN_KEY = ('<<ident>>',)",
    ),
    (Code, "secret = load_secret('<<word>>/<<word>>-v2')"),
    (Code, "raise ValueError(f\"token: {token!r} at {offset}\")"),
    (
        Code,
        ".sk-fading-circle-<<word>>-delay-1200ms-item-2 { color: #a1b2c3 }",
    ),
    (
        Json,
        "{\"sha\": \"<<sha>>\", \"ref\": \"refs/heads/<<word>>\"}",
    ),
    (
        Json,
        "{\"id\": \"<<uuid>>\", \"sessionId\": \"<<uuid>>\", \"count\": <<number>>}",
    ),
    (
        Json,
        "{\"integrity\": \"<<sri>>\", \"version\": \"<<version>>\"}",
    ),
    (
        Json,
        "{\"max_tokens\": 8192, \"input_tokens\": <<number>>, \"token_count\": \"<<number>>\"}",
    ),
    (
        Json,
        "{\"properties\": {\"password\": {\"type\": \"string\"}, \"token\": {\"type\": \"string\", \"format\": \"uuid\"}}}",
    ),
    (
        Json,
        "{\"required\": [\"password\", \"token\", \"apiKey\"]}",
    ),
    (Json, "{\"path\": \"<<path>>\", \"etag\": \"<<md5>>\"}"),
    (
        Json,
        "{\"password\": null, \"secret\": false, \"token\": \"\"}",
    ),
    (
        Json,
        "{\"data\": \"<<image>>\", \"mimeType\": \"image/png\"}",
    ),
    (
        Json,
        "{\"cacheKey\": \"npm-<<version>>-<<short>>\", \"requestId\": \"<<id>>\"}",
    ),
    (
        Json,
        "{\"password\": \"${DB_PASSWORD}\", \"apiKey\": \"<your-api-key>\", \"token\": \"***\"}",
    ),
    (
        Json,
        "{\"tool\": \"read_file\", \"call\": \"read_file-<<number>>-<<short>>\"}",
    ),
    (Yaml, "image: registry.example/<<word>>@sha256:<<sha256>>"),
    (Yaml, "checksum = \"<<sha256>>\""),
    (
        Yaml,
        "secretName: <<word>>-tls-v2\nsecretKeyRef:\n  name: <<slug>>\n  key: password",
    ),
    (
        Yaml,
        "password: ${{ secrets.DEPLOY_PASSWORD_2 }}\ntoken: ${{ github.token }}",
    ),
    (Yaml, "key: ${{ runner.os }}-cargo-<<short>>"),
    (Yaml, "tokenizer: <<word>>-bpe-32k\ntoken_limit: 128000"),
    (Yaml, "name: <<slug>>\nuid: <<uuid>>"),
    (
        Yaml,
        "password_min_length: 12\npassword_policy: <<word>>-v2\ntoken_ttl: 3600s",
    ),
    (Yaml, "commit: <<sha>> # <<word>>"),
    (
        Yaml,
        "api_key: YOUR_API_KEY_HERE\npassword: changeme\nsecret: <secret>",
    ),
    (Yaml, "key: <<word>>-<<version>>\nvalue: <<md5>>"),
    (Url, "https://<<host>>/<<word>>/commit/<<sha>>"),
    (Url, "https://<<host>>/download?id=<<id>>&v=<<version>>"),
    (
        Url,
        "https://<<host>>/search?q=token+password&page=2&sort=key",
    ),
    (Url, "git checkout <<sha>> && cargo test <<ident>>"),
    (Url, "ssh://git@<<host>>:2222/<<word>>/<<word>>.git"),
    (
        Url,
        "docker run -p 8080:8080 -e TOKEN <<host>>/<<word>>:<<version>>",
    ),
    (
        Url,
        "curl -H \"Authorization: Bearer $TOKEN\" https://<<host>>/<<uuid>>",
    ),
    (Url, "mysql -u root -p <<word>> < <<path>>"),
    (
        Url,
        "https://<<host>>/map?zoom=12&key=$MAP_KEY&layer=<<word>>2",
    ),
    (
        Url,
        "npm install <<word>>@<<version>> --save-dev # token-types <<version>>",
    ),
    (Url, "https://<<host>>/assets/<<word>>.<<md5>>.js"),
    (
        Environment,
        "PATH=/usr/local/bin:/usr/bin\nSHLVL=2\nSESSION_ID=<<uuid>>",
    ),
    (
        Environment,
        "GIT_COMMIT=<<sha>>\nBUILD_ID=<<number>>\nIMAGE_TAG=<<word>>-<<short>>",
    ),
    (
        Environment,
        "SSH_KEY=/etc/ssh/<<word>>_ed25519\nTOKEN_FILE=/run/<<word>>/token2",
    ),
    (
        Environment,
        "API_KEY=$(pass show <<word>>/api2)\nDB_PASSWORD=$DB_PASSWORD_2",
    ),
    (
        Environment,
        "API_TOKEN=\nDB_PASSWORD=changeme\nSECRET_KEY=your-secret-key-2",
    ),
    (
        Environment,
        "MAX_TOKENS=8192\nTOKENIZER=<<word>>32k\nKEYBOARD=us-intl2",
    ),
    (
        Environment,
        "XDG_SESSION_PATH=/org/freedesktop/DisplayManager/Session0\nLS_COLORS=rs=0:di=01;34",
    ),
    (
        Environment,
        "PASSWORD_STORE_DIR=~/.password-store2\nGPG_KEY_ID=<<short>>",
    ),
    (Environment, "CACHE_KEY=v2-<<word>>-<<short>>"),
    (
        Environment,
        "NIX_STORE=/nix/store/<<md5>>-<<word>>-<<version>>",
    ),
];

pub(super) fn innocent_text(rng: &mut SeededRng, context: SecretContext) -> String {
    let fitting: Vec<_> = TEMPLATES.iter().filter(|it| it.0 == context).collect();
    let (_, template) = fitting[rng.below(fitting.len())];
    fill_template(rng, template)
}
