import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import express, { type RequestHandler, type Response } from 'express'
import Negotiator from 'negotiator'
import { escapeHtml, page } from '../../core/page.ts'
import { pageLimit } from '../http/pageLimit.ts'
import { METADATA_PATH } from '../http/protectedResource.ts'
import type { Platform } from './index.ts'

/** Requests per address and minute. The reference needs six. */
const REQUESTS_PER_MINUTE = 240

const LINKS = [
  { path: '/reference', title: 'API reference', about: 'every route, in your browser' },
  { path: '/openapi.json', title: 'OpenAPI document', about: 'the same for programs' },
  { path: '/docs', title: 'Documentation', about: 'its modules; the pages of each need a token' },
  { path: '/version', title: 'Version', about: 'of the platform and of Kubernetes' },
  { path: METADATA_PATH, title: 'Sign-in', about: 'who issues the tokens' },
  { path: '/readyz', title: 'Readiness', about: 'whether requests are taken' },
] as const

/** The renderer needs no external and no inline scripts or styles. */
const REFERENCE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

/**
 * The platform's own pages: the welcome page at `/` and the API reference. They are public, so they contain nothing
 * about tenants. At `/`, programs get JSON.
 */
export function platformPages(platform: Platform): RequestHandler {
  const router = express.Router({ strict: true, caseSensitive: true })
  router.use(pageLimit(REQUESTS_PER_MINUTE))
  router.get('/', (request, response) => {
    response.vary('Accept')
    const isPage = new Negotiator(request).mediaType(['application/json', 'text/html']) === 'text/html'
    if (isPage) sendPage(response, welcomePage(platform))
    else response.json(index(platform))
  })
  router.get('/reference', (_request, response) => {
    sendPage(response, { html: REFERENCE_PAGE, policy: REFERENCE_POLICY })
  })
  for (const [name, mediaType, read] of REFERENCE_FILES) {
    router.get(`/reference/${name}`, (_request, response) => {
      response.set('content-type', mediaType).set('cache-control', 'public, max-age=3600').send(read())
    })
  }
  return (request, response, next) => {
    const path = request.url.split('?', 1)[0] ?? ''
    // Nearly all requests are for other paths.
    if (path === '/' || path === '/reference' || path.startsWith('/reference/')) router(request, response, next)
    else next()
  }
}

function sendPage(response: Response, { html, policy }: { html: string; policy: string }): void {
  response.set('content-security-policy', policy).set('cache-control', 'no-cache').type('html').send(html)
}

function index({ version, kubernetesVersion, simulated }: Platform) {
  const links = Object.fromEntries(LINKS.map(({ path, title }) => [title, path]))
  return { name: 'Freehold', version, kubernetesVersion, simulated, links }
}

function welcomePage(platform: Platform) {
  const { version, commit, kubernetesVersion } = platform
  const links = LINKS.map(({ path, title, about }) => `<li><a href="${path}">${title}</a>: ${about}</li>`)
  return page(
    'It runs',
    `<p>A multi-tenant cloud platform on Kubernetes. This is its REST interface; the same resources can be reached with
kubectl and with Git tools, under the same rules.</p>
${simulationNote(platform)}
<ul>
${links.join('\n')}
</ul>
<p>With the command line, <code>freehold setup --facade-url ADDRESS</code> and <code>freehold login</code> sign you in
(<code>freehold setup --dev</code> alone where <code>npm run up</code> runs this), and <code>freehold kinds</code> shows what there is.</p>
<p class="small">Version ${escapeHtml(version)}, commit ${escapeHtml(commit)}, on Kubernetes ${escapeHtml(kubernetesVersion)}</p>`,
  )
}

function simulationNote({ simulated }: Platform): string {
  if (simulated.length === 0) return '<p>Everything here is real: what runs, runs.</p>'
  const what = escapeHtml(simulated.join(', '))
  return `<p><strong>Simulated here:</strong> ${what}. Resources behave as on a cluster, but nothing answers at their addresses.</p>`
}

const REFERENCE_PAGE = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference - Freehold</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/reference/swagger-ui.css">
<link rel="stylesheet" href="/reference/freehold.css">
</head>
<body>
<main>
<h1 class="unseen">API reference</h1>
<div id="reference"><noscript>The reference is drawn by a script. Without it, read <a href="/openapi.json">the OpenAPI document</a>.</noscript></div>
</main>
<script src="/reference/swagger-ui-bundle.js"></script>
<script src="/reference/start.js"></script>
</body>
</html>
`

/**
 * Fixes low contrast and overflow on small screens, hides the choice of a single unnamed server, and leaves the first
 * heading to screen readers: the renderer draws its own, of the second level.
 */
const REFERENCE_STYLE = `
.unseen{position:absolute;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%)}
.swagger-ui .info .title small{background:#596170}
.swagger-ui .info .title small.version-stamp{background:#466200}
.swagger-ui .info a,.swagger-ui a.link,.swagger-ui .info .url,.swagger-ui .markdown a,.swagger-ui .renderedMarkdown a{color:#1c5ba8}
.swagger-ui .btn.authorize{color:#0b6b41;border-color:#0b6b41}
.swagger-ui .servers-title,.swagger-ui .servers{display:none}
.swagger-ui .opblock-tag{flex-wrap:wrap}
.swagger-ui .opblock-tag small{flex-basis:16rem;min-width:0;overflow-wrap:anywhere}
.swagger-ui .info,.swagger-ui .opblock-summary-path{overflow-wrap:anywhere}
@media(max-width:40rem){.swagger-ui .opblock .opblock-summary{flex-wrap:wrap}.swagger-ui .wrapper{padding:0 .5rem}}
`

/** No validator, because it would send the document to another host. Tokens are not persisted. */
const REFERENCE_SCRIPT = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  defaultModelsExpandDepth: -1,
  validatorUrl: null,
  persistAuthorization: false,
})
`

const REFERENCE_FILES: readonly (readonly [name: string, mediaType: string, read: () => Buffer | string])[] = [
  ['swagger-ui.css', 'text/css; charset=utf-8', packagedFile('swagger-ui.css')],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8', packagedFile('swagger-ui-bundle.js')],
  ['freehold.css', 'text/css; charset=utf-8', () => REFERENCE_STYLE],
  ['start.js', 'text/javascript; charset=utf-8', () => REFERENCE_SCRIPT],
]

/** A file of the renderer, read at the first request. */
function packagedFile(name: string): () => Buffer {
  let content: Buffer | undefined
  return () => {
    content ??= readFileSync(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)))
    return content
  }
}
