import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Authority } from '../../../scripts/controlplane/pki.ts'
import { createOutgoing } from '../../../src/adapters/outgoing/client.ts'

/** Git's own server program behind TLS and one password: real, but for the few lines of CGI here. */
export async function serveGit(root: string, { username, password }: { username: string; password: string }) {
  const folder = await mkdtemp(join(tmpdir(), 'freehold-git-tls-'))
  const authority = await Authority.open(folder, 'ca')
  const { certPem, keyPem } = await authority.issue({ commonName: 's', purpose: 'server', names: ['127.0.0.1'] })
  const { stdout } = await promisify(execFile)('git', ['--exec-path'])
  const backend = join(stdout.trim(), 'git-http-backend')
  const wanted = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    if (request.headers.authorization !== wanted) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return
    }
    const url = new URL(request.url ?? '/', 'https://git')
    const child = spawn(backend, {
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        REMOTE_USER: username,
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
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
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const outgoing = createOutgoing({ allowedHosts: [host], certificateAuthority: authority.certPem })
  return {
    url: `https://${host}`,
    fetch: outgoing.fetch,
    server,
    async close() {
      await outgoing.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
}
