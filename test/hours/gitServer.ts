import { execFile, spawn } from 'node:child_process'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'

const run = promisify(execFile)
const REPOSITORY = 'tenants.git'

export type GitServer = {
  /** Of one empty repository with the branch `main`. */
  readonly url: string
  /** Its newest commit, and the tree of it as Git packs it. */
  head(): Promise<{ commit: string; archive: Buffer }>
  stop(): Promise<void>
}

/** A real Git server over HTTP: what `git http-backend` serves. */
export async function startGitServer(folder: string, onPush: () => void): Promise<GitServer> {
  const bare = join(folder, REPOSITORY)
  await run('git', ['init', '--quiet', '--bare', '--initial-branch=main', bare])
  await run('git', ['-C', bare, 'config', 'http.receivepack', 'true'])
  const server = createServer((request, response) => {
    const isPush = request.method === 'POST' && request.url?.endsWith('/git-receive-pack') === true
    serve(folder, request, response).then(
      () => isPush && onPush(),
      () => response.destroy(),
    )
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/${REPOSITORY}`,
    async head() {
      const { stdout: commit } = await run('git', ['-C', bare, 'rev-parse', 'main'])
      const archiving = { encoding: 'buffer', maxBuffer: 1e8 } as const
      const { stdout } = await run('git', ['-C', bare, 'archive', '--format=tar.gz', 'main'], archiving)
      return { commit: commit.trim(), archive: stdout }
    },
    stop: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}

/** One request by the Common Gateway Interface (RFC 3875). */
async function serve(folder: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, search } = new URL(request.url ?? '/', 'http://localhost')
  const header = (name: string) => String(request.headers[name] ?? '')
  const child = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_PROTOCOL: header('git-protocol'),
      HTTP_CONTENT_ENCODING: header('content-encoding'),
      CONTENT_TYPE: header('content-type'),
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      REMOTE_ADDR: '127.0.0.1',
      REMOTE_USER: 'test',
    },
  })
  child.stdin.on('error', () => undefined)
  request.pipe(child.stdin)
  const answer = await buffer(child.stdout)
  const end = answer.indexOf('\r\n\r\n')
  const fields = answer
    .subarray(0, end)
    .toString()
    .split('\r\n')
    .map((line) => line.split(/: /, 2) as [string, string])
  const status = fields.find(([name]) => name === 'Status')?.[1] ?? '200'
  response.writeHead(Number.parseInt(status, 10), Object.fromEntries(fields.filter(([name]) => name !== 'Status')))
  response.end(answer.subarray(end + 4))
}
