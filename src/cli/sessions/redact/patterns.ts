/*
 * What secrets look like. A text that only looks like one is masked, too: that costs a reader a word, and the other way
 * round a key is published.
 */

/** Shapes that stand for themselves: how the usual issuers write their keys. */
const ISSUED = [
  // Private keys, also one that is cut off.
  String.raw`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)`,
  String.raw`\bAGE-SECRET-KEY-1[0-9A-Z]{20,}`,
  // JSON Web Tokens.
  String.raw`\beyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*`,
  // Models: OpenAI, Anthropic, DeepSeek and who writes keys like them; Groq, xAI, Perplexity, Hugging Face, Replicate.
  String.raw`\bsk-[\w-]{16,}`,
  String.raw`\b(?:gsk_|xai-|pplx-|hf_|r8_|nvapi-)[\w-]{20,}`,
  // Clouds: AWS, Google, Azure connection strings, DigitalOcean, Databricks, Vault.
  String.raw`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`,
  String.raw`\bAIza[\w-]{30,}`,
  String.raw`\bya29\.[\w-]{20,}`,
  String.raw`\bGOCSPX-[\w-]{20,}`,
  String.raw`\bdo[opr]_v1_[a-f0-9]{32,}`,
  String.raw`\bdapi[a-f0-9]{32}`,
  String.raw`\bhv[sbr]\.[\w-]{20,}`,
  // Code and packages: GitHub, GitLab, npm, PyPI, Shopify, Linear, Grafana.
  String.raw`\b(?:gh[pousr]|github_pat)_\w{20,}`,
  String.raw`\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-[\w-]{16,}`,
  String.raw`\bnpm_[A-Za-z0-9]{30,}`,
  String.raw`\bpypi-[\w-]{16,}`,
  String.raw`\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}`,
  String.raw`\b(?:lin_api_|glsa_|dckr_pat_|ntn_)[\w-]{20,}`,
  // Messages and money: Slack, Stripe, SendGrid, Twilio, Mailgun, Telegram, Discord.
  String.raw`\bxox[a-z]-[\w-]{10,}`,
  String.raw`\bxapp-[\w-]{10,}`,
  String.raw`\bhooks\.slack\.com/services/[\w/-]{20,}`,
  String.raw`\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}`,
  String.raw`\bwhsec_[\w+/=-]{16,}`,
  String.raw`\bSG\.[\w-]{16,}\.[\w-]{16,}`,
  String.raw`\bSK[a-f0-9]{32}\b`,
  String.raw`\bkey-[a-f0-9]{32}\b`,
  String.raw`\b\d{8,10}:[\w-]{35}\b`,
  String.raw`\bdiscord(?:app)?\.com/api/webhooks/[\w/-]{20,}`,
];

/** Names whose values are secrets. */
const NAMES =
  "pass(?:word|wd|phrase)|secret|api[_-]?key|(?:access|auth|refresh|session|bearer)[_-]?token|account[_-]?key|" +
  "(?:access|secret|private|signing|encryption)[_-]?(?:access[_-]?)?key|client[_-]?secret|credentials?";

/** Shapes that their surroundings tell. The first group is what stands before the secret, and stays. */
const TOLD = [
  String.raw`(\bbearer[\s:=]{1,4})(?:(?=[\w.~+/=-]*\d)[\w.~+/=-]{8,}|[\w.~+/=-]{20,})`,
  String.raw`(\bauthorization\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?(?:basic|token|apikey)\s{1,3})[\w.~+/=-]{6,}`,
  // The password of a URL.
  String.raw`(\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@"'<>]{0,200}:)[^\s/@"'<>]{1,300}(?=@)`,
  // name = value, also quoted, and as JSON in a text.
  String.raw`((?:${NAMES})\\?["']?\s{0,3}[:=]\s{0,3}(?:\\?["']))[^"'\\\n]{4,}`,
  String.raw`((?:${NAMES})\s{0,3}[:=]\s{0,3})[^\s"'\\,;&<>()[\]{}]{6,}`,
];

/** Finds secrets by their own shape: the whole match. */
export const ISSUED_PATTERN = new RegExp(ISSUED.join("|"), "g");
/** Finds secrets by what stands before them: each has it as its first group. */
export const TOLD_PATTERNS = TOLD.map((source) => new RegExp(source, "gi"));
/** Names of members whose text is a secret as a whole. */
export const SECRET_NAME = new RegExp(
  `(?:^|[_-])(?:${NAMES}|authorization|x-api-key|cookie|set-cookie)$`,
  "i",
);
