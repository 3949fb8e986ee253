import { createHash } from 'node:crypto'

/** An HTML page and its Content-Security-Policy: no scripts, and one style sheet by its hash. */
export type Page = { html: string; policy: string }

const STYLE = `
:root{color-scheme:light dark;--ground:#f4f1ea;--card:#fff;--ink:#1d2733;--soft:#566270;--line:#8a94a0;--go:#0b5d4e;--on:#fff;--bad:#a3201b}
@media(prefers-color-scheme:dark){:root{--ground:#12181f;--card:#1b242e;--ink:#eef2f5;--soft:#a9b5c1;--line:#6f7c89;--go:#5fd0b5;--on:#0d1a17;--bad:#ff9d94}}
*{box-sizing:border-box}
body{margin:0;overflow-wrap:anywhere;min-height:100vh;display:grid;place-items:center;padding:1.5rem;background:var(--ground);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{width:100%;max-width:25rem;background:var(--card);border-top:.375rem solid var(--go);border-radius:.25rem;padding:2rem;box-shadow:0 1px 3px #0003}
.brand{margin:0 0 1.5rem;font-weight:700;letter-spacing:.04em;color:var(--soft)}
h1{margin:0 0 .75rem;font-size:1.5rem;line-height:1.25}
h2{margin:1.5rem 0 .5rem;font-size:1.125rem}
ul{margin:0 0 1rem;padding:0;list-style:none}
li{padding:.625rem 0;border-top:1px solid var(--line)}
p{margin:0 0 1rem}
pre{white-space:pre-wrap}
label{display:block;margin:0 0 .25rem;font-weight:600}
input{width:100%;margin:0 0 1rem;padding:.625rem .75rem;font:inherit;color:inherit;background:transparent;border:1px solid var(--line);border-radius:.25rem}
input.code,.code{font:600 1.5rem/1.4 ui-monospace,monospace;letter-spacing:.12em;text-transform:uppercase}
button{width:100%;min-height:2.75rem;margin:.25rem 0 .5rem;padding:.625rem;font:inherit;font-weight:600;color:var(--on);background:var(--go);border:1px solid var(--go);border-radius:.25rem;cursor:pointer}
button.quiet{color:var(--go);background:transparent}
:focus-visible{outline:3px solid var(--go);outline-offset:2px}
.wrong{padding:.625rem .75rem;border-left:.25rem solid var(--bad);color:var(--bad);font-weight:600}
.small{font-size:.875rem;color:var(--soft)}
`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/** @param targets other origins where a form may end; redirects after the form count too */
export function pagePolicy(targets: readonly string[] = []): string {
  return [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    `form-action ${["'self'", ...targets].join(' ')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}

/** Escapes text for use between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

export type PageOptions = {
  /** Other origins where its forms may end. */
  targets?: readonly string[] | undefined
  /** What was wrong with a form: screen readers announce it first, and fields refer to it by the id `problem`. */
  error?: string | undefined
}

export function page(title: string, body: string, { targets, error }: PageOptions = {}): Page {
  const isWrong = error !== undefined
  const html = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${isWrong ? 'Error: ' : ''}${escapeHtml(title)} - Freehold</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<p class="brand">Freehold</p>
<h1>${escapeHtml(title)}</h1>
${isWrong ? `<p class="wrong" role="alert" id="problem">${escapeHtml(error)}</p>\n` : ''}${body}
</main>
</body>
</html>
`
  return { html, policy: pagePolicy(targets) }
}

/** A page that forwards to another address by itself. The policy would block a redirect after a form. */
export function redirectPage(url: string, title: string, body: string): Page {
  const address = escapeHtml(url)
  const { html, policy } = page(title, `${body}\n<p><a href="${address}" rel="noreferrer">Continue</a></p>`)
  const refresh = `<meta http-equiv="refresh" content="0;url=${address}">`
  return { html: html.replace('</title>', () => `</title>\n${refresh}`), policy }
}
