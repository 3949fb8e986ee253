import { once } from 'node:events'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { bearer } from '../../../test/worlds/facadeServer.ts'
import { BOUNDARY as B, OWNER, startShop } from '../../../test/worlds/shop.ts'
import { fakeBlobs } from '../../adapters/blobs/fake.ts'
import { blobBuildLogs } from '../../adapters/buildlogs/client.ts'
import type { SourceArchives } from '../../adapters/builds/port.ts'
import { ArchiveRefused } from '../../contracts/builds/archive.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { DeploymentSource } from '../../crds/sources.ts'

const APP = `/boundaries/${B}/resourcegroups/shop/resources/apps/web`
const SOURCE = '55555555-5555-4555-8555-555555555555'
const PIECE = 'x'.repeat(65_536)

describe('a client that sends all before it reads', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  let port: number
  before(async () => {
    const keep: SourceArchives['keep'] = async (_, archive) => {
      for await (const _piece of archive) throw new ArchiveRefused('It is none.')
      throw new Error('It was empty.')
    }
    const logs = blobBuildLogs(fakeBlobs())
    server = await startShop({}, { deployments: { logs, archives: { keep }, podOf: () => undefined } })
    server.put(PlatformApp, 'web', { sourceKind: 'Upload' }, groupNamespace(B, 'shop'))
    const source = { displayName: 'Git', provider: 'GitHub', baseUrl: 'https://github.com', installationId: '1' }
    server.put(DeploymentSource, SOURCE, source, boundaryNamespace(B))
    port = (await server.facade.listen(0, '127.0.0.1')).port
  })
  after(async () => {
    await server.facade.stop(0)
    await server.stop()
  })

  const routes: [sentence: string, method: string, path: string, headers: Record<string, string>, code: string][] = [
    ['a source', 'PUT', `${APP}/source`, { 'content-type': 'application/gzip' }, 'BAD_REQUEST'],
    [
      'a form that asks for a token',
      'POST',
      '/registry/auth/token',
      { 'content-type': 'application/x-www-form-urlencoded' },
      'BODY_TOO_LARGE',
    ],
    [
      'a delivery of a Git host',
      'POST',
      `/boundaries/${B}/sources/github/webhooks?source=${SOURCE}`,
      { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}`, 'x-github-event': 'push' },
      'BODY_TOO_LARGE',
    ],
  ]
  for (const [sentence, method, path, headers, expected] of routes) {
    it(`hears why it is refused: ${sentence}`, async () => {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      const head = { host: 'x', authorization: bearer(OWNER), 'transfer-encoding': 'chunked', ...headers }
      const lines = [`${method} ${path} HTTP/1.1`, ...Object.entries(head).map(([name, value]) => `${name}: ${value}`)]
      socket.write(`${lines.join('\r\n')}\r\n\r\n`)
      for (let piece = 0; piece < 40; piece += 1) {
        socket.write(`${PIECE.length.toString(16)}\r\n${PIECE}\r\n`)
        for (let turn = 0; turn < 50; turn += 1) await setImmediate()
      }
      const answer = (await buffer(socket.end('0\r\n\r\n'))).toString()
      const { code } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))
      expect([answer.slice(9, 12), code], answer).to.deep.equal(['400', expected])
    })
  }
})
