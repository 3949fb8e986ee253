import type { SiteOptions } from '../builds/request.ts'

/** Where an image of a site has its files and prepares its configuration, and the port that it listens on. */
export const SITE_FILES = '/site'
export const SITE_WORK = '/tmp/site'
export const SITE_PORT = 8080

/** The environment variable of a site's image with the configuration of its web server. */
export const SITE_VARIABLE = 'FREEHOLD_SITE'

export const DEFAULT_SITE: SiteOptions = {
  isSinglePage: true,
  notFoundPage: '404.html',
  cacheControl: 'public, max-age=300',
  headers: {},
}

export type SiteLayout = {
  readonly port: number
  readonly files: string
  readonly work: string
  readonly types: string
}
const PLACES: SiteLayout = {
  port: SITE_PORT,
  files: SITE_FILES,
  work: SITE_WORK,
  types: '/etc/nginx/mime.types',
}

const COMPRESSED = [
  'text/css',
  'text/plain',
  'text/javascript',
  'text/xml',
  'application/javascript',
  'application/json',
  'application/manifest+json',
  'application/wasm',
  'application/xml',
  'application/rss+xml',
  'image/svg+xml',
]

/**
 * Files whose name changes with their content: with a hash as bundlers write it, eight characters or more and a digit
 * among them. Scripts and styles everywhere, other files where bundlers put them.
 */
const HASH = '[.-](?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{8,}'
const HASHED = [
  `/[^/]*${HASH}\\.(?:m?js|css|map|woff2?)`,
  `/(?:assets|static|_astro|_next/static|_app/immutable)/(?:[^/]+/)*[^/]*${HASH}\\.[a-z0-9]+`,
]
const IMMUTABLE = 'public, max-age=31536000, immutable'

/** The nginx variable that `geo` defines. */
const DOLLAR = '$' + '{dollar}'

/** Quotes a text for nginx. A dollar would begin a variable, so a variable that holds a dollar replaces it. */
function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, '\\$&').replaceAll('$', () => DOLLAR)}"`
}

/**
 * Returns the nginx configuration of a site. nginx writes to one folder only, and needs no user of its own.
 * `SITE_START` writes `redirects.conf` and `proxy.conf`, which depend on where it runs.
 */
export function siteConfiguration(site: SiteOptions, places: Partial<SiteLayout> = {}): string {
  const { port, files, work, types } = { ...PLACES, ...places }
  const headers = Object.entries(site.headers).map(([name, value]) => `add_header ${name} ${quoted(value)} always;`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${work}/${name};`,
  )
  return [
    'worker_processes 1;',
    `pid ${work}/nginx.pid;`,
    'error_log stderr warn;',
    'events { worker_connections 1024; }',
    'http {',
    `include ${types};`,
    'default_type application/octet-stream;',
    'charset utf-8;',
    'access_log /dev/stdout;',
    'sendfile on; tcp_nopush on; server_tokens off;',
    'gzip on; gzip_static on; gzip_vary on; gzip_min_length 512; gzip_proxied any;',
    `gzip_types ${COMPRESSED.join(' ')};`,
    ...temporary,
    'geo $dollar { default "$"; }',
    // Answers of /api do not belong to the site, and state their own caching.
    'map "$upstream_status:$status:$uri" $site_cache {',
    `default ${quoted(site.cacheControl)};`,
    '"~^[0-9]" "";',
    '"~^:[45]" "no-cache";',
    ...HASHED.map((pattern) => `"~^:(?:200|206|304):(?:/.*)?${pattern}$" "${IMMUTABLE}";`),
    '}',
    'server {',
    `listen ${port};`,
    `root ${files};`,
    'index index.html; absolute_redirect off;',
    'add_header Cache-Control $site_cache always;',
    ...headers,
    ...fallbackLocation(site),
    'location ~ "/\\.(?!well-known/)" { return 404; }',
    'location = /_redirects { return 404; }',
    'location = /index.html { try_files $uri =404; }',
    `include ${work}/redirects.conf;`,
    ...proxyLocations(site.proxyUrl, work),
    '}',
    '}',
    '',
  ].join('\n')
}

function fallbackLocation({ isSinglePage, notFoundPage }: SiteOptions): string[] {
  if (isSinglePage) return ['location / { try_files $uri $uri/index.html $uri.html /index.html; }']
  const page = quoted(`/${notFoundPage.replace(/^\/+/, '')}`)
  return [`error_page 403 404 =404 ${page};`, 'location / { try_files $uri $uri/ $uri.html =404; }']
}

/** Resolves the name for each request, not at the start, so that the site is served while the name is unknown. */
function proxyLocations(proxyUrl: string | undefined, work: string): string[] {
  if (proxyUrl === undefined) return []
  const { host, hostname, pathname } = new URL(proxyUrl)
  const base = pathname.replace(/\/+$/, '')
  return [
    'location = /api { rewrite ^ /api/ last; }',
    'location ^~ /api/ {',
    `include ${work}/proxy.conf;`,
    `set $site_proxy ${quoted(`https://${host}`)};`,
    `rewrite "^/api/(.*)$" ${quoted(`${base}/`).slice(0, -1)}$1" break;`,
    'proxy_pass $site_proxy;',
    'proxy_http_version 1.1;',
    'proxy_ssl_server_name on;',
    `proxy_ssl_name ${quoted(hostname)};`,
    `proxy_set_header Host ${quoted(host)};`,
    'proxy_set_header Connection "";',
    'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;',
    'proxy_set_header X-Forwarded-Host $host;',
    'proxy_set_header X-Forwarded-Proto https;',
    'client_max_body_size 10m;',
    '}',
  ]
}
