import { expect } from 'chai'
import { request } from '../../../../test/make/request.ts'
import { bearer } from '../../../../test/worlds/facadeServer.ts'
import { BOUNDARY as B, OWNER, startShop } from '../../../../test/worlds/shop.ts'
import { fakeBlobs } from '../../../adapters/blobs/fake.ts'
import { localActivatorClient } from '../../../adapters/calls/localActivator.ts'
import { functionObjectName } from '../../../contracts/functions.ts'
import { groupNamespace } from '../../../core/names.ts'
import { PlatformApp } from '../../../crds/apps.ts'
import { DeploymentRecord } from '../../../crds/deployments.ts'
import { FunctionNamespace, ServerlessFunction } from '../../../crds/functions.ts'

const SHOP = groupNamespace(B, 'shop')
const RESOURCES = `/boundaries/${B}/resourcegroups/shop/resources`
const CONTRIBUTOR = '44444444-4444-4444-8444-444444444444'
const REFERENCE = { name: 'PASSWORD', secret: { vaultName: 'payroll', secretName: 'password' } }

/** Another principal, who may read the vault, adds a secret reference to the resource during the upload. */
describe('an upload to a resource that gets a secret reference meanwhile', () => {
  let shop: Awaited<ReturnType<typeof startShop>>
  let meanwhile: () => Promise<unknown>
  beforeEach(async () => {
    meanwhile = async () => undefined
    const store = fakeBlobs()
    const keep = async (_repository: string, pieces: AsyncIterable<unknown>) => {
      for await (const _ of pieces);
      await meanwhile()
      return { reference: `site@sha256:${'0'.repeat(64)}` }
    }
    const blobs = {
      ...store,
      write: async (...given: Parameters<typeof store.write>) => {
        await meanwhile()
        return store.write(...given)
      },
    }
    const logs = { read: async () => undefined }
    shop = await startShop(
      {},
      {
        deployments: { logs, archives: { keep }, podOf: () => undefined } as never,
        functions: { blobs, calls: localActivatorClient(() => undefined) },
      },
    )
    shop.grant(CONTRIBUTOR, 'Contributor', `/boundaries/${B}`)
    shop.put(PlatformApp, 'site', { sourceKind: 'Upload', runtime: 'node' }, SHOP)
    shop.put(FunctionNamespace, 'calls', { runtime: 'nodejs' }, SHOP)
    const spec = { namespaceName: 'calls', functionName: 'hello', handler: 'index' }
    shop.put(ServerlessFunction, functionObjectName('calls', 'hello'), spec, SHOP)
  })
  afterEach(() => shop.stop())

  const giveTo = (kind: typeof PlatformApp | typeof ServerlessFunction | typeof FunctionNamespace, name: string) => {
    meanwhile = async () => {
      const ref = { namespace: SHOP, name }
      const written = await shop.client.mergePatch(kind.resource, ref, { spec: { env: [REFERENCE] } })
      await shop.caches.get(kind.resource).observeWrite(written)
    }
  }
  const uploadApp = (as: string) =>
    request(shop.app)
      .put(`${RESOURCES}/apps/site/source`)
      .set({ authorization: bearer(as), 'content-type': 'application/gzip' })
      .send('files')
  const uploadFunction = (as: string) =>
    shop
      .ask('post', `${RESOURCES}/functionnamespaces/calls/functions/hello/source`, as)
      .send({ files: [{ path: 'index.mjs', content: 'export default () => 1' }] })

  it('returns 403 and creates no deployment if the caller may not read the secret', async () => {
    giveTo(PlatformApp, 'site')
    const { status, body } = await uploadApp(CONTRIBUTOR)
    expect([status, body.code], JSON.stringify(body)).to.deep.equal([403, 'FORBIDDEN'])
    expect((await shop.client.list(DeploymentRecord.resource)).items).to.deep.equal([])
    expect((await uploadApp(OWNER)).status).to.equal(202)
  })

  for (const [title, kind, name] of [
    ['function', ServerlessFunction, functionObjectName('calls', 'hello')],
    ['namespace', FunctionNamespace, 'calls'],
  ] as const) {
    it(`returns 403 and stores no files if the ${title} refers to a secret`, async () => {
      giveTo(kind, name)
      const { status, body } = await uploadFunction(CONTRIBUTOR)
      expect([status, body.code], JSON.stringify(body)).to.deep.equal([403, 'FORBIDDEN'])
      const ref = { namespace: SHOP, name: functionObjectName('calls', 'hello') }
      const stored = await shop.client.get(ServerlessFunction.resource, ref)
      expect(stored.spec).to.not.have.property('source')
    })
  }

  it('succeeds without a secret reference', async () => {
    expect((await uploadApp(CONTRIBUTOR)).status).to.equal(202)
    expect((await uploadFunction(CONTRIBUTOR)).status).to.equal(200)
  })
})
