import { expect } from 'chai'
import { makeRegistry } from '../../../test/make/registry.ts'
import { AuditError, type AuditLog } from '../../adapters/audit/port.ts'
import { isRegistryError, type RegistryPort } from '../../adapters/registry/port.ts'
import { BoundarySpace } from '../../api/registry/space.ts'
import type { RegistryAuditEntry } from '../../contracts/registry/audit.ts'
import { listRecentPushTargets } from '../../controllers/registry/plan.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { KINDS } from '../../crds/index.ts'
import { pod } from '../../kube/builtin.ts'
import { FakeKubeClient } from '../../kube/fake.ts'
import { listImageUses, requireNotifySecret, seesPushes, uploadTokens } from './registry.ts'

const REPOSITORY = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01/shop/functionnamespaces/api'
const IMAGE = `registry.test/${REPOSITORY}:built`
/** Fields of a spec or status in which a kind may name an image. */
const NAMING = ['image', 'imageName', 'servingImage', 'components', 'deploy', 'release']

const NO_OTHERS = { clientOf: () => new FakeKubeClient() }

describe('listImageUses', () => {
  const naming = KINDS.filter(
    ({ placement, spec, status }) =>
      placement === 'group' && NAMING.some((field) => field in spec.shape || field in status.shape),
  )

  it('covers several kinds', () => {
    expect(naming.map(({ kind }) => kind)).to.include.members([
      'ServerlessFunction',
      'ContainerInstance',
      'PlatformJob',
    ])
  })

  for (const { kind, apiVersion, resource } of naming.filter((each) => each.kind !== 'DeploymentRecord'))
    it(`includes the image in the status of a ${kind} without a pod`, async () => {
      const client = new FakeKubeClient()
      client.seed(resource, {
        apiVersion,
        kind,
        metadata: { name: 'one', namespace: 'shop' },
        status: { image: IMAGE },
      })
      expect([...(await listImageUses(client, NO_OTHERS))(REPOSITORY).running.tags]).to.deep.equal(['built'])
    })
})

describe('listImageUses with another cluster', () => {
  const FAR = '4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77'
  const tagsOf = async (agent: object, far: Pick<FakeKubeClient, 'list'>) => {
    const client = new FakeKubeClient()
    const spec = { displayName: 'Far', isPlatform: false }
    const { apiVersion, kind, resource } = PlatformCluster
    client.seed(resource, { apiVersion, kind, metadata: { name: FAR }, spec, status: { agent } })
    const others = { clientOf: () => far as FakeKubeClient }
    return [...(await listImageUses(client, others))(REPOSITORY).running.tags]
  }
  const far = new FakeKubeClient()
  const metadata = { name: 'one', namespace: 'shop' }
  const spec = { containers: [{ name: 'main', image: IMAGE }] }
  far.seed(pod, { apiVersion: 'v1', kind: 'Pod', metadata, spec })

  it('includes the images of its pods', async () => {
    expect(await tagsOf({ connection: 'first' }, far)).to.deep.equal(['built'])
  })

  let nested: object = {}
  for (let depth = 0; depth < 20_000; depth += 1) nested = { nested }
  for (const [what, items] of [
    ['300,000 pods', Array(300_000).fill({ metadata })],
    ['pods nested 20,000 levels deep', [nested]],
  ] as const)
    it(`returns no images of a cluster that answers with ${what}`, async () => {
      const list = async () => ({ items, resourceVersion: '1' }) as never
      expect(await tagsOf({ connection: 'first' }, { list })).to.deep.equal([])
    })

  it('returns no images of a cluster that does not answer or lost its connection', async () => {
    const list = () => Promise.reject(new Error('No answer.'))
    expect(await tagsOf({ connection: 'first' }, { list })).to.deep.equal([])
    expect(await tagsOf({ connection: 'first', lostConnection: 'first' }, far)).to.deep.equal([])
  })
})

describe('uploadTokens', () => {
  const { service, audit } = makeRegistry()
  const ask = (log: AuditLog<RegistryAuditEntry>) =>
    uploadTokens({ keys: service.keys, audit: log }, service.space)('repository', REPOSITORY, ['pull', 'push'])

  it('records the push in the audit log, where listRecentPushTargets finds it', async () => {
    const token = await ask(audit)
    expect(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).sub).to.equal('freehold')
    const busy = await listRecentPushTargets({ ...service, audit } as unknown as RegistryPort, 0)
    expect([...busy]).to.deep.equal([REPOSITORY])
  })

  it('issues no token if the audit log cannot be written', async () => {
    const full = { ...audit, append: () => Promise.reject(new AuditError('The audit of this day is full.')) }
    expect(isRegistryError(await ask(full).catch((error: unknown) => error), 'Unreachable')).to.equal(true)
  })
})

describe('uploadTokens of a full boundary', () => {
  it('refuses to upload a source', async () => {
    const { service, registry, audit } = makeRegistry()
    registry.push(REPOSITORY, 'v1', { text: 'image' })
    const space = new BoundarySpace(registry, 1)
    const refused = await uploadTokens({ ...service, audit }, space)('repository', REPOSITORY, ['pull', 'push']).catch(
      (error: unknown) => error,
    )
    expect(refused).to.include({ code: 'QUOTA_EXCEEDED' })
    expect(await audit.newest(1, () => true)).to.deep.equal([])
  })
})

describe('requireNotifySecret', () => {
  for (const [title, registryNotifySecretFile] of [
    ['is not configured', undefined],
    ['is empty', '/dev/null'],
  ] as const)
    it(`throws if the secret ${title}`, () => {
      const required = () => requireNotifySecret({ registryNotifySecretFile })
      expect(required).to.throw('registryUrl needs registryNotifySecretFile')
    })
})

describe('seesPushes', () => {
  for (const [role, registryAuditFolder, sees] of [
    ['controllers', undefined, false],
    ['controllers', '/audit', true],
    ['all', undefined, true],
  ] as const)
    it(`returns ${sees} for the role ${role} with ${registryAuditFolder ?? 'no audit folder'}`, () => {
      expect(seesPushes({ role, registryAuditFolder })).to.equal(sees)
    })
})
