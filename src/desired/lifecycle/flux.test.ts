import { expect } from 'chai'
import { neededValues } from '../../contracts/componentValues.ts'
import { PlatformComponent } from '../../crds/lifecycle.ts'
import { helmReleaseOf, ociRepositoryOf } from './flux.ts'

const made = (spec: object = {}) =>
  ({
    metadata: { name: 'shop' },
    spec: PlatformComponent.spec.parse({
      ...{ title: 'Shop', kind: 'Module', namespace: 'apps', version: '1.0.0' },
      ...{ chart: { name: 'storefront', url: 'oci://charts.example.com/shop' }, values: { debug: false } },
      required: [{ key: 'auth.password', title: 'Password', isSecret: true }],
      ...spec,
    }),
  }) as unknown as PlatformComponent

describe('Flux objects of a component', () => {
  it('pin tag and digest of the chart', () => {
    const digest = `sha256:${'a'.repeat(64)}`
    const { spec } = ociRepositoryOf(made(), { url: 'oci://mirror.test/shop', isInsecure: true }, digest)
    expect(spec).to.deep.include({ url: 'oci://mirror.test/shop', insecure: true, ref: { tag: '1.0.0', digest } })
  })

  it('configure a HelmRelease without retries and rollback', () => {
    const component = made()
    const { metadata, spec } = helmReleaseOf(component, neededValues(component, undefined))
    expect(metadata).to.deep.equal({ name: 'pcomp-shop', namespace: 'freehold-system' })
    expect(spec).to.deep.equal({
      ...{
        interval: '1h',
        timeout: '10m',
        releaseName: 'storefront',
        targetNamespace: 'apps',
        storageNamespace: 'apps',
      },
      chartRef: { kind: 'OCIRepository', name: 'pcomp-shop' },
      install: { crds: 'CreateReplace', remediation: { retries: 0 }, createNamespace: true },
      upgrade: { crds: 'CreateReplace', remediation: { retries: 0 } },
      driftDetection: { mode: 'warn' },
      values: { debug: false },
      valuesFrom: [
        {
          ...{ kind: 'Secret', name: 'install-configuration', valuesKey: 'shop.auth.password' },
          ...{ targetPath: 'auth.password', literal: true },
        },
      ],
    })
  })

  it('set forceAt to retry the same version', () => {
    const requestedAt = '2026-01-01T00:00:00Z'
    expect(helmReleaseOf(made({ requestedAt }), []).metadata.annotations).to.deep.equal({
      'reconcile.fluxcd.io/requestedAt': requestedAt,
      'reconcile.fluxcd.io/forceAt': requestedAt,
    })
  })

  it('set a timeout of 30 minutes for third-party charts', () => {
    expect(helmReleaseOf(made({ kind: 'ThirdPartyChart' }), []).spec).to.include({ timeout: '30m' })
  })
})
