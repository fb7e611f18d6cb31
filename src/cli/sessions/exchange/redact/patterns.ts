import type { Span } from "./mask.ts";
import type { SecretKind } from "./secret-forms.ts";

/*
 * What secrets look like. A text that only looks like one is masked, too: that costs a reader a word, and the other way
 * round a key is published. Each repetition that something must follow is bounded: what a log says decides how long a
 * search takes.
 */

/** Private keys; of one that is cut off the lines that are there. */
const PRIVATE_KEY = String.raw`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]{0,65536}(?:-[^-]{1,200}){0,8}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:[^A-Za-z0-9+/=]{0,16}(?:\\?[nr])?[A-Za-z0-9+/=]{16,128}){1,2000}(?:[^A-Za-z0-9+/=]{1,8}[A-Za-z0-9+/=]{1,64})?|(?:\s|\\[nr]){1,8}[A-Za-z0-9+/=\s\\]{0,200}$)`;
/** Shapes that stand for themselves: how the usual issuers write their keys, at the start of a word. */
const ISSUED = [
  "AGE-SECRET-KEY-1[0-9A-Z]{20,}",
  // JSON Web Tokens.
  String.raw`eyJ[\w-]{5,4096}\.[\w-]{5,65536}(?:\.[\w-]*)+`,
  // Models: OpenAI, Anthropic, DeepSeek and who writes keys like them; Groq, xAI, Perplexity, Hugging Face, Replicate.
  String.raw`sk-(?=[\w-]{0,200}[0-9A-Z])[\w-]{16,}`,
  String.raw`(?:gsk_|xai-|pplx-|hf_|r8_|nvapi-)[\w-]{20,}`,
  // Clouds: AWS, Google, Azure connection strings, DigitalOcean, Databricks, Vault.
  String.raw`(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`,
  String.raw`AIza[\w-]{30,}`,
  String.raw`ya29\.[\w-]{20,}`,
  String.raw`GOCSPX-[\w-]{20,}`,
  "do[opr]_v1_[a-f0-9]{32,}",
  "dapi[a-f0-9]{32}",
  String.raw`hv[sbr]\.[\w-]{20,}`,
  // Code and packages: GitHub, GitLab, npm, PyPI, Shopify, Linear, Grafana.
  String.raw`(?:gh[pousr]|github_pat)_\w{20,}`,
  String.raw`gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-[\w-]{16,}`,
  "npm_[A-Za-z0-9]{30,}",
  String.raw`pypi-[\w-]{16,}`,
  "shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
  String.raw`(?:lin_api_|glsa_|dckr_pat_|ntn_)[\w-]{20,}`,
  // Messages and money: Slack, Stripe, SendGrid, Twilio, Mailgun, Telegram, Discord.
  String.raw`xox[a-z]-[\w-]{10,}`,
  String.raw`xapp-[\w-]{10,}`,
  String.raw`hooks\.slack\.com/services/[\w/-]{20,}`,
  "(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}",
  String.raw`whsec_[\w+/=-]{16,}`,
  String.raw`SG\.[\w-]{16,64}\.[\w-]{16,}`,
  String.raw`SK[a-f0-9]{32}\b`,
  String.raw`key-[a-f0-9]{32}\b`,
  String.raw`\d{8,10}:[\w-]{35}\b`,
  String.raw`discord(?:app)?\.com/api/webhooks/[\w/-]{20,}`,
];

/** Names whose values are secrets. */
const NAMES =
  "pass(?:word|wd|phrase|code)|secret|api[_-]?key|(?:access|auth|refresh|session|bearer|api)[_-]?token|account[_-]?key|" +
  "(?:access|auth|secret|private|signing|encryption)[_-]?(?:access[_-]?)?key|client[_-]?secret|credentials?";
/** The same in an environment, where they are parts of longer names. */
const VARIABLES =
  "PASSWORD|PASSWD|PASSPHRASE|SECRET|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|AUTH_?KEY|CREDENTIALS?|_PWD|TOKEN(?!S)";
/** Each of them has one of these in it. */
const NAMED = ["passw", "passp", "passc", "secret", "key", "token", "credential", "_pwd"];
/** A pass that is counted or made is no password. */
const NO_PASS = "(?<!first|second|third|last|final|next|single|multi|one|two|by|render|build|tests?|checks?)";
/** Names that end so are those of passwords, as in `db_pass` and `dbPass`. */
const SHORT_NAMES = `(?<=[A-Za-z0-9])${NO_PASS}(?:[_.-](?:pass|PASS|Pass|pwd|PWD|pw|PW)|(?<=[a-z0-9])(?:Pass|Pwd))(?![A-Za-z0-9_-])`;
const TO = String.raw`\s{0,3}(?::=|=>|[:=])\s{0,3}`;
/** What code has behind such a name: a type, nothing yet, or where the value comes from. */
const CODE =
  "(?:string|number|boolean|undefined|required|optional|await)\\b|(?:process|os|env|self|this|config|options|z)\\.|" +
  "[A-Za-z_][\\w.]{0,60}\\(|\\$[A-Za-z{(]|\\*{3}|\\.{3}";

/** Shapes that their surroundings tell. The first group is what stands before the secret, and stays. */
const TOLD: readonly {
  readonly needs: readonly string[];
  readonly flags: string;
  readonly source: string;
}[] = [
  {
    needs: ["bearer"],
    flags: "gi",
    source: String.raw`(\bbearer[\s:=]{1,4})(?:(?=[\w.~+/=-]{0,512}\d)[\w.~+/=-]{8,}|[\w.~+/=-]{20,})`,
  },
  {
    needs: ["authorization"],
    flags: "gi",
    source: String.raw`(\bauthorization["']?\s{0,3}[:=]\s{0,3}["']?(?:basic|token|apikey)\s{1,3})[\w.~+/=-]{6,}`,
  },
  // The password of a URL, of a command, and of a file for one.
  {
    needs: ["://"],
    flags: "gi",
    source: String.raw`(\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@"'<>]{0,200}:)[^\s/@"'<>]{1,300}(?=@)`,
  },
  {
    needs: ["-u", "--user"],
    flags: "g",
    source: String.raw`((?:^|\s)(?:-u|--user)[ =]["']?(?!\d)[^\s:"']{1,64}:)[^\s"']{3,}`,
  },
  {
    needs: ["login"],
    flags: "gi",
    source: String.raw`(\slogin\s{1,4}\S{1,64}\s{1,4}password\s{1,4})\S+`,
  },
  {
    needs: ["--"],
    flags: "gi",
    source: String.raw`(--(?:[a-z0-9]{1,16}-){0,3}(?:${NAMES}|pass|pwd)\s{1,3}["']?)(?![-$])[^\s"']{4,}`,
  },
  // Clients of databases, and others that take a password right behind a letter, or behind a space.
  {
    needs: ["mysql", "mariadb"],
    flags: "g",
    source: String.raw`(\b(?:mysql|mariadb)[\w.-]{0,24}["',]{0,2}\s(?:[^\n|;&]{0,300}?[\s"'])?-p["']?)(?![\s"'$<])[^\s"'\\|;&]{3,}`,
  },
  {
    needs: ["sshpass", "mongo", "login", "redis-cli"],
    flags: "g",
    source:
      String.raw`(\b(?:sshpass|mongo(?:sh|dump|restore|export|import)?|(?:docker|podman|helm|nerdctl|oc|az)\b[^\n|;&]{0,60}\blogin)\b` +
      String.raw`(?:\s[^\n|;&]{0,300}?)?\s-p[ =]?["']?|\bredis-cli\b(?:\s[^\n|;&]{0,300}?)?\s-a\s{1,3}["']?)(?![-\s"'$<])[^\s"'\\|;&]{3,}`,
  },
  {
    needs: ["identified"],
    flags: "gi",
    source: String.raw`(\bidentified\s{1,4}(?:with\s{1,4}\S{1,40}\s{1,4})?by\s{1,4}(?:password\s{1,4})?\\?["'])[^"'\\\n]{3,}`,
  },
  {
    needs: ["cookie"],
    flags: "gi",
    source: String.raw`(\b(?:set-)?cookie["']?\s{0,3}:\s{0,3}["']?[\w.-]{1,64}=)[^\s"'\\;]{6,}[^\n"'\\]*`,
  },
  // name = value, also quoted, and as a member of JSON.
  {
    needs: NAMED,
    flags: "gi",
    source:
      String.raw`((?:${NAMES})(?:["']?${TO}["']|${TO}(?!["'])))(?:(?<=")(?:\\.|[^"\\\n])+|(?<=')(?:\\.|[^'\\\n])+|` +
      String.raw`(?<!["'])(?!${CODE})[^\s"'\\,;&<>()[\]{}]{6,})`,
  },
  {
    needs: ["pass", "pwd", "pw"],
    flags: "g",
    source:
      String.raw`(${SHORT_NAMES}(?:["']?${TO}["']|${TO}(?!["'])))(?:(?<=")(?:\\.|[^"\\\n])+|(?<=')(?:\\.|[^'\\\n])+|` +
      String.raw`(?<!["'])(?!${CODE}|(?:true|false|null|none|yes|nil|\d{1,5})\b)[^\s"'\\,;&<>()[\]{}]{4,})`,
  },
  {
    needs: ["pass", "pw"],
    flags: "gi",
    source: String.raw`((?<![\w-])(?:pass|pw)["']?${TO}["'])(?=[a-z]{0,63}[^a-z\s"'])[^\s"'\\]{6,64}(?=["'\\])`,
  },
  {
    needs: NAMED,
    flags: "g",
    source: String.raw`(\b[A-Z0-9_]{0,64}(?:${VARIABLES})[A-Z0-9_]{0,32}=["']?)(?![$<(])[^\s"'\\;|]{4,}`,
  },
  // Not all that is called so is one: those are that are long and hold a digit.
  {
    needs: ["token", "authorization"],
    flags: "gi",
    source: String.raw`((?:\b|_)(?:token|authorization)["']?${TO}["']?)(?=[\w.~+/=:-]{0,64}\d)[\w.~+/=:-]{16,}`,
  },
];

/** Finds secrets by their own shape: the whole match. */
const ISSUED_PATTERN = new RegExp(`\\b(?:${ISSUED.join("|")})|${PRIVATE_KEY}`, "g");
/** Finds secrets by what stands before them: each has it as its first group. */
const TOLD_PATTERNS = TOLD.map(({ needs, flags, source }) => ({ needs, pattern: new RegExp(source, flags) }));

/** Where a text has what looks like a secret, and how it was found, in no order. */
export function* secretsIn(text: string): Generator<Span & { readonly kind: SecretKind }> {
  for (const { index, 0: whole } of text.matchAll(ISSUED_PATTERN))
    yield { start: index, end: index + whole.length, kind: "issued" };
  // Far quicker than a pattern, and most texts have none of these.
  const words = text.toLowerCase();
  const looked = new Map<string, boolean>();
  const has = (word: string) => {
    const known = looked.get(word) ?? words.includes(word);
    looked.set(word, known);
    return known;
  };
  for (const { needs, pattern } of TOLD_PATTERNS) {
    if (!needs.some(has)) continue;
    for (const { index, 0: whole, 1: before = "" } of text.matchAll(pattern))
      yield {
        start: index + before.length,
        end: index + whole.length,
        kind: /["']$/.test(before) ? "quoted" : "bare",
      };
  }
}

const SECRET_NAME = new RegExp(
  `(?:^|[_.-])(?:${NAMES}|(?:x-)?authorization|x-api-key|(?:set-)?cookie|pwd)$|${NO_PASS}[_.-](?:pass|pw)$`,
  "i",
);
/** A member of this name has a password where its text could be one. */
const PASS_NAME = /^(?:pass|pw)$/i;
const PASSWORD = /^(?=.*[^A-Za-z]).{6,64}$/;
const TOKEN_NAME = /(?:^|[_.-])token$/i;
const TOKEN = /^(?=.*\d)[\w.~+/=:-]{16,}$/;

/** Whether the text of a member of this name is a secret as a whole. */
export function isSecretMember(name: string, text: string): boolean {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2");
  if (SECRET_NAME.test(words)) return true;
  return (TOKEN_NAME.test(words) && TOKEN.test(text)) || (PASS_NAME.test(words) && PASSWORD.test(text));
}
