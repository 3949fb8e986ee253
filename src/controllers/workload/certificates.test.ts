import { expect } from 'chai'
import { seedGroup, seedTypes } from '../../../test/crashes/seeds.ts'
import { World } from '../../../test/crashes/world.ts'
import type { KubeObject } from '../../core/object.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { PlatformCluster } from '../../crds/clusters.ts'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import type { AnyKind } from '../../crds/define.ts'
import { FunctionNamespace } from '../../crds/functions.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { StaticWebApp } from '../../crds/staticwebapps.ts'
import { secret } from '../../kube/builtin.ts'
import { certificate } from '../../kube/certmanager.ts'

const NAME = 'shop'
/** What else the spec of each kind needs. */
const SPECS: ReadonlyMap<AnyKind, object> = new Map<AnyKind, object>([
  [
    ContainerInstance,
    { isPublic: true, components: [{ name: 'web', image: 'site:1', ports: [{ name: 'http', port: 8080 }] }] },
  ],
  [PlatformApp, { sourceKind: 'Image', image: 'site:1' }],
  [StaticWebApp, { image: 'site:1' }],
  [FunctionNamespace, { runtime: 'nodejs' }],
])

type Certificate = KubeObject & { spec: { secretName: string; dnsNames: string[] } }

describe('certificates of custom domains', () => {
  let world: World
  afterEach(() => world.stop())

  it('are tested here for every kind with custom domains', () => {
    world = new World(() => [])
    const kinds = RESOURCE_KINDS.filter(({ spec }) => 'customDomains' in spec.shape)
    expect(kinds.map(({ kind }) => kind).sort()).to.deep.equal([...SPECS.keys()].map(({ kind }) => kind).sort())
  })

  const certificates = async () => (await world.server.list<Certificate>(certificate)).items

  /** The names of the TLS Secrets that cert-manager keeps. */
  const kept = async () =>
    (await world.server.list(secret)).items
      .filter(({ type }) => type === 'kubernetes.io/tls')
      .map(({ metadata }) => metadata.name)
      .sort()

  /** The Secret of the certificate by domain. */
  const named = async () =>
    Object.fromEntries((await certificates()).map(({ spec }) => [spec.dnsNames.join(), spec.secretName]))

  /** Simulates cert-manager, which keeps the Secret of a deleted Certificate. */
  async function issue(): Promise<void> {
    const known = await kept()
    for (const { metadata, spec } of await certificates()) {
      if (known.includes(spec.secretName)) continue
      const annotations = { 'cert-manager.io/certificate-name': metadata.name }
      const placed = { name: spec.secretName, namespace: metadata.namespace, annotations }
      await world.server.create(secret, {
        ...{ apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata: placed },
      } as KubeObject)
    }
    await world.rest()
  }

  async function made(kind: AnyKind, customDomains: readonly string[]): Promise<void> {
    const names = [kind.kind.toLowerCase(), 'deploymentrecord']
    world = new World((all) => all.filter(({ name }) => names.includes(name)))
    seedGroup(world.server)
    seedTypes(world.server, [certificate])
    for (const { metadata } of (await world.server.list(PlatformCluster.resource)).items)
      await world.server.mergePatch(PlatformCluster.resource, metadata, { spec: { certificateIssuer: 'acme' } })
    await world.lead()
    await world.make(kind, NAME, { ...SPECS.get(kind), customDomains })
    await world.rest()
    await issue()
    expect(await kept()).to.have.length(customDomains.length)
  }

  for (const [kind] of SPECS) {
    it(`are deleted with their Secret when a ${kind.kind} loses the domain`, async () => {
      await made(kind, ['a.example.net', 'b.example.net'])
      const before = await named()
      await world.change(kind, NAME, { customDomains: ['b.example.net'] })
      await world.rest()
      expect(await named()).to.deep.equal({ 'b.example.net': before['b.example.net'] })
      expect(await kept()).to.deep.equal([before['b.example.net']])
    })

    it(`are deleted with their Secret when a ${kind.kind} is deleted`, async () => {
      await made(kind, ['a.example.net'])
      await world.remove(kind, NAME)
      await world.until('it is gone', async () => (await world.find(kind.resource, NAME)) === undefined)
      expect([await named(), await kept()]).to.deep.equal([{}, []])
    })

    it(`stay the same when a ${kind.kind} gets another domain first`, async () => {
      await made(kind, ['b.example.net'])
      const before = await named()
      await world.change(kind, NAME, { customDomains: ['a.example.net', 'b.example.net'] })
      await world.rest()
      expect(await named()).to.include(before)
    })
  }
})
