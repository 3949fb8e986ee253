import { expect } from 'chai'
import { until } from '../../test/make/until.ts'
import { silentLog } from '../core/log.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { PlatformClient } from '../crds/identity.ts'
import { SsoConnection } from '../crds/sso.ts'
import { secret } from '../kube/builtin.ts'
import { WatchCache } from '../kube/cache.ts'
import { FakeKubeClient } from '../kube/fake.ts'
import type { KubeObject } from '../kube/object.ts'
import { noteMissingSecrets, watchSecretMetadata } from './namedSecrets.ts'

const CLIENT = '3f0e6f0a-6a43-4a53-9d2b-1f3a7c0f9e11'
const TENANT = '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e'
const namespace = SYSTEM_NAMESPACE

describe('noteMissingSecrets', () => {
  let kube: FakeKubeClient
  let stop: (() => Promise<unknown>)[]

  beforeEach(() => {
    kube = new FakeKubeClient()
    stop = []
    const providers = [{ clientSecretName: 'sso-a' }, { clientSecretName: 'sso-b' }, {}]
    seed(PlatformClient, CLIENT, { displayName: 'Pipeline', isEnabled: true, secretName: 'pipeline' })
    seed(SsoConnection, TENANT, { domains: [], identityProviders: providers })
  })
  afterEach(async () => {
    for (const each of stop) await each()
  })

  function seed(
    { resource, apiVersion, kind }: typeof PlatformClient | typeof SsoConnection,
    name: string,
    spec: object,
  ) {
    kube.seed(resource, { apiVersion, kind, metadata: { namespace, name, generation: 1 }, spec } as KubeObject)
  }
  const make = (name: string, data = { 'client-secret': 'eA==' } as Record<string, string>) =>
    kube.create(secret, { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name }, data } as KubeObject)

  async function start() {
    const caches = new Map(
      [PlatformClient, SsoConnection].map((kind) => {
        const cache = new WatchCache({ client: kube, resource: kind.resource, log: silentLog })
        cache.start()
        return [kind as unknown, cache]
      }),
    )
    await Promise.all([...caches.values()].map((cache) => cache.whenSynced()))
    const secrets = watchSecretMetadata({ client: kube, log: silentLog })
    secrets.start()
    const notes = noteMissingSecrets({
      client: kube,
      objects: (kind) => caches.get(kind) ?? expect.fail(),
      secrets,
      log: silentLog,
    })
    stop.push(
      () => notes.stop(),
      () => secrets.stop(),
      ...[...caches.values()].map((cache) => () => cache.stop()),
    )
  }
  async function missing(
    kind: typeof PlatformClient | typeof SsoConnection,
    name: string,
    wanted: string[] | undefined,
  ) {
    await until(`${name} misses ${wanted}`, async () => {
      const { status } = await kube.get<KubeObject>(kind.resource, { namespace, name })
      const { missingSecrets } = (status ?? {}) as { missingSecrets?: string[] }
      return missingSecrets?.join() === wanted?.join()
    })
  }

  it('sets missingSecrets while a Secret is missing or has no client-secret, and clears it afterwards', async () => {
    await make('sso-b')
    await start()
    await missing(PlatformClient, CLIENT, ['pipeline'])
    await missing(SsoConnection, TENANT, ['sso-a'])
    await make('pipeline', { 'another-key': 'eA==' })
    await make('sso-a')
    await missing(SsoConnection, TENANT, undefined)
    await missing(PlatformClient, CLIENT, ['pipeline'])
    await kube.mergePatch(secret, { namespace, name: 'pipeline' }, { data: { 'client-secret': 'eA==' } })
    await missing(PlatformClient, CLIENT, undefined)
  })

  it('sets missingSecrets when a Secret is deleted or another one is named', async () => {
    for (const name of ['pipeline', 'sso-a', 'sso-b']) await make(name)
    await start()
    await kube.remove(secret, { namespace, name: 'sso-b' })
    await missing(SsoConnection, TENANT, ['sso-b'])
    await kube.mergePatch(PlatformClient.resource, { namespace, name: CLIENT }, { spec: { secretName: 'other' } })
    await missing(PlatformClient, CLIENT, ['other'])
  })

  it('reads no Secret at its start if all exist, and only the named ones after a deletion', async () => {
    for (const name of ['pipeline', 'sso-a', 'sso-b']) await make(name)
    kube.calls.length = 0
    await start()
    await make('of-nobody')
    await kube.remove(secret, { namespace, name: 'sso-b' })
    await missing(SsoConnection, TENANT, ['sso-b'])
    const reads = kube.calls.filter(({ verb, resource }) => verb === 'get' && resource === 'secrets')
    expect(reads.map(({ key }) => key).sort()).to.deep.equal([`${namespace}/sso-a`, `${namespace}/sso-b`])
  })
})
