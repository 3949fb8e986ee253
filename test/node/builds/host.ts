import { spawn } from 'node:child_process'
import { createReadStream, existsSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join, normalize } from 'node:path'

/**
 * What builds fetch from, in the network of a node: bare repositories below `git/`, by git's own program for web servers,
 * and files below `files/`, as a registry of packages serves them. A process of its own.
 */
const [root = '', address = '', port = ''] = process.argv.slice(2)

const server = createServer((request, response) => {
  const path = normalize(new URL(request.url ?? '/', 'http://host').pathname)
  if (path.startsWith('/git/')) serveGit(request, response, path)
  else serveFile(response, join(root, path))
})
server.listen(Number(port), address, () => process.stdout.write(`${JSON.stringify(server.address())}\n`))

function serveFile(response: ServerResponse, path: string): void {
  if (!existsSync(path)) response.writeHead(404).end()
  else createReadStream(path).pipe(response)
}

function serveGit(request: IncomingMessage, response: ServerResponse, path: string): void {
  // A repository with this name requires an account.
  const isClosed = path.startsWith('/git/private.git/')
  if (isClosed && request.headers.authorization !== `Basic ${Buffer.from('build:secret').toString('base64')}`) {
    response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
    return
  }
  const child = spawn('/usr/lib/git-core/git-http-backend', {
    env: {
      PATH: '/usr/bin:/bin',
      GIT_PROJECT_ROOT: join(root, 'git'),
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      PATH_INFO: path.slice('/git'.length),
      QUERY_STRING: (request.url ?? '').split('?')[1] ?? '',
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
  })
  request.pipe(child.stdin)
  let head = Buffer.alloc(0)
  child.stdout.on('data', (chunk: Buffer) => {
    if (response.headersSent) {
      response.write(chunk)
      return
    }
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    const headers = head
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map((line) => line.split(/:\s*/, 2) as [string, string])
    const status = Number(headers.find(([name]) => name === 'Status')?.[1]?.slice(0, 3) ?? 200)
    response.writeHead(status, Object.fromEntries(headers.filter(([name]) => name !== 'Status')))
    response.write(head.subarray(end + 4))
  })
  child.stdout.on('end', () => response.end())
}
