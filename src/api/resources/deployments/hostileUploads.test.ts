import { expect } from 'chai'
import { HOSTILE_ARCHIVES } from '../../../../test/cases/hostileSources/archives.ts'
import { expectClear } from '../../../../test/cases/hostileSources/reasons.ts'
import { BOUNDARY as B, startShop } from '../../../../test/worlds/shop.ts'
import { fakeBlobs } from '../../../adapters/blobs/fake.ts'
import { blobBuildLogs } from '../../../adapters/buildlogs/client.ts'
import type { SourceArchives } from '../../../adapters/builds/port.ts'
import { unpack } from '../../../adapters/builds/unpack.ts'
import { groupNamespace } from '../../../core/names.ts'
import { PlatformApp } from '../../../crds/apps.ts'
import { DeploymentRecord } from '../../../crds/deployments.ts'

const PATH = `/boundaries/${B}/resourcegroups/shop/resources/apps/web/source`

describe('PUT of a hostile source archive', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  before(async () => {
    // Validates like the one with a registry, and stores nothing.
    const keep: SourceArchives['keep'] = async (_, archive) => {
      await unpack(archive, undefined)
      throw new Error('It was accepted.')
    }
    const logs = blobBuildLogs(fakeBlobs())
    server = await startShop({}, { deployments: { logs, archives: { keep }, podOf: () => undefined } })
    server.put(PlatformApp, 'web', { sourceKind: 'Upload' }, groupNamespace(B, 'shop'))
  })
  after(() => server.stop())

  // Streamed archives are tested with `unpack`.
  const archives = HOSTILE_ARCHIVES.flatMap(({ sentence, bytes, says }) => {
    const made = bytes()
    return Buffer.isBuffer(made) ? [{ sentence, made, says }] : []
  })
  it('returns 400 with the reason and creates no deployment', async () => {
    expect(archives).to.not.be.empty
    const wrong: string[] = []
    for (const { sentence, made, says } of archives) {
      const { status, body } = await server.ask('put', PATH).set('content-type', 'application/gzip').send(made)
      const [, reason = ''] = /^The source is refused: (.*)$/s.exec(body.error ?? '') ?? []
      if (status !== 400 || body.code !== 'BAD_REQUEST' || !says.test(reason))
        wrong.push(`${sentence}: ${status} ${JSON.stringify(body)}`)
      else expectClear(reason)
    }
    expect(wrong.join('\n')).to.equal('')
    expect((await server.client.list(DeploymentRecord.resource)).items).to.deep.equal([])
  })
})
