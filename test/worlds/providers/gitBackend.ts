import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Authority } from '../../../scripts/controlplane/pki.ts'
import { createOutgoing } from '../../../src/adapters/outgoing/client.ts'
import { until } from '../../make/until.ts'
import { type Place, WHOLE_FILE } from './standIn.ts'

type Login = { username: string; password: string }

/**
 * Git's real server program, behind a few lines of CGI here. @param isOpen which paths need no password; none by
 * default
 */
async function gitHandler(
  root: string,
  { username, password }: Login,
  isOpen: (path: string) => boolean = () => false,
) {
  const { stdout } = await promisify(execFile)('git', ['--exec-path'])
  const backend = join(stdout.trim(), 'git-http-backend')
  const wanted = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  return (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', 'https://git')
    if (request.headers.authorization !== wanted && !isOpen(url.pathname)) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return
    }
    const child = spawn(backend, {
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        HTTP_CONTENT_ENCODING: String(request.headers['content-encoding'] ?? ''),
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        REMOTE_USER: username,
      },
    })
    request.pipe(child.stdin)
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.on('close', () => {
      const whole = Buffer.concat(chunks)
      const end = whole.indexOf('\r\n\r\n')
      const lines = whole.subarray(0, end).toString().split('\r\n')
      const headers = lines.map((line) => line.split(': ', 2) as [string, string])
      const status = Number(headers.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? 200)
      response.writeHead(status, Object.fromEntries(headers.filter(([name]) => name !== 'Status')))
      response.end(whole.subarray(end + 4))
    })
  }
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}

/** Behind TLS and one password, with a client. */
export async function serveGit(root: string, login: Login) {
  const folder = await mkdtemp(join(tmpdir(), 'freehold-git-tls-'))
  const authority = await Authority.open(folder, 'ca')
  const { certPem, keyPem } = await authority.issue({ commonName: 's', purpose: 'server', names: ['127.0.0.1'] })
  const server = createServer({ cert: certPem, key: keyPem }, await gitHandler(root, login))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const outgoing = createOutgoing({ allowedHosts: [host], certificateAuthority: () => authority.certPem })
  return {
    url: `https://${host}`,
    fetch: outgoing.fetch,
    certificateAuthority: authority.certPem,
    server,
    async close() {
      await outgoing.close()
      await stop(server)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/**
 * At the port where the platform of the tests calls providers, once another test's provider has freed it. Paths below
 * `/open/` need no password.
 */
export async function serveGitToPlatform(root: string, login: Login, { port, certificate, key }: Place) {
  const tls = { cert: readFileSync(certificate, 'utf8'), key: readFileSync(key, 'utf8') }
  const server = createServer(tls, await gitHandler(root, login, (path) => path.startsWith('/open/')))
  const listen = async () => {
    await once(server.listen(port, '127.0.0.1'), 'listening')
    return true
  }
  await until('no other process plays the providers', listen, WHOLE_FILE)
  return () => stop(server)
}
