import { nothingToBuild } from '../files.ts'
import type { SiteOptions } from '../request.ts'
import { runtimeNamed } from '../runtimes.ts'
import { type RecipeInput, runWithVariables } from './dockerfile.ts'
import { buildOfNode } from './node.ts'

/** The configuration of the web server, beside the Dockerfile of a site. */
export const SITE_CONFIGURATION = 'site.conf'
const FILES = '/site'

export const DEFAULT_SITE: SiteOptions = {
  isSinglePage: false,
  notFoundPage: '404.html',
  cacheControl: 'public, max-age=300',
  headers: {},
}

/**
 * A site: what a build leaves in a folder, or the files as they are, behind nginx.
 *
 * @param outputPath relative to the root of the source
 */
export function siteDockerfile(input: RecipeInput, outputPath: string | undefined): string {
  const { files, version, buildCommand, port } = input
  const isBuilt = files.paths.has('package.json') || buildCommand !== undefined
  if (!isBuilt && !files.paths.has('index.html') && outputPath === undefined) {
    throw nothingToBuild('There is neither a package.json to build a site with, nor an index.html. Check rootPath.')
  }
  const folder = (outputPath ?? (isBuilt ? 'dist' : '.')).replace(/^\/+|\/+$/g, '') || '.'
  const server = runtimeNamed('static')?.versions[0]?.runImage
  const built = files.paths.has('package.json')
    ? buildOfNode(input, { isPruned: false })
    : ['COPY . .', ...runWithVariables(buildCommand ?? '', input)]
  return [
    '# A site behind nginx. Keep a copy as Dockerfile to change it.',
    ...(isBuilt ? [`FROM ${version.builderImage} AS build`, 'WORKDIR /app', ...built, ''] : []),
    `FROM ${server}`,
    `COPY --from=server ${SITE_CONFIGURATION} /etc/nginx/site.conf`,
    isBuilt
      ? `COPY --from=build ${JSON.stringify([`/app/${folder}/`, `${FILES}/`])}`
      : `COPY ${JSON.stringify([`${folder}/`, `${FILES}/`])}`,
    'USER 65532:65532',
    `EXPOSE ${port}`,
    'CMD ["nginx", "-c", "/etc/nginx/site.conf", "-g", "daemon off;"]',
    '',
  ].join('\n')
}

/** In quotes of nginx, where a dollar would begin a variable: there is no way to write one. */
function quoted(text: string): string {
  if (/[$\n\r]/.test(text))
    throw nothingToBuild(`A web server cannot send "${text.slice(0, 40)}": it holds a dollar or a new line.`)
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}

/** What the web server does; it writes to /tmp only, and needs no user of its own. */
export function siteConfiguration(site: SiteOptions, port: number): string {
  const headers = Object.entries({ 'Cache-Control': site.cacheControl, ...site.headers })
  const lines = headers.map(([name, value]) => `    add_header ${quoted(name)} ${quoted(value)} always;`)
  const missing = `/${site.notFoundPage.replace(/^\/+/, '')}`
  const proxy = site.proxyUrl === undefined ? [] : proxied(site.proxyUrl)
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `  ${name}_temp_path /tmp/${name};`)
  return [
    'worker_processes 1;',
    'pid /tmp/nginx.pid;',
    'error_log /dev/stderr warn;',
    'events { worker_connections 1024; }',
    'http {',
    '  include /etc/nginx/mime.types;',
    '  default_type application/octet-stream;',
    '  access_log /dev/stdout;',
    '  sendfile on;',
    '  gzip on;',
    '  gzip_types text/css application/javascript application/json image/svg+xml;',
    '  server_tokens off;',
    ...paths,
    '  server {',
    `    listen ${port};`,
    `    root ${FILES};`,
    '    absolute_redirect off;',
    ...lines,
    ...(site.isSinglePage ? [] : [`    error_page 404 ${quoted(missing)};`]),
    `    location / { try_files $uri $uri/ ${site.isSinglePage ? '/index.html' : '=404'}; }`,
    ...proxy,
    '  }',
    '}',
    '',
  ].join('\n')
}

function proxied(url: string): string[] {
  const { host, hostname, pathname, protocol } = new URL(url)
  const target = `${protocol}//${host}${pathname.replace(/\/+$/, '')}/`
  return [
    '    location /api/ {',
    `      proxy_pass ${quoted(target)};`,
    `      proxy_set_header Host ${quoted(host)};`,
    '      proxy_ssl_server_name on;',
    `      proxy_ssl_name ${quoted(hostname)};`,
    '    }',
  ]
}
