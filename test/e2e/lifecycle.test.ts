// @inTurn plain: installs the kinds of Flux in the cluster, and kills the operator.
import { expect } from 'chai'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { DEFAULT_COMPONENTS } from '../../src/crds/defaultComponents.ts'
import { ComponentInstall, PlatformComponent } from '../../src/crds/lifecycle.ts'
import { secret } from '../../src/kube/builtin.ts'
import { installManifests } from '../../src/kube/crds.ts'
import type { KubeError } from '../../src/kube/errors.ts'
import { helmRelease, ociRepository } from '../../src/kube/flux.ts'
import { fluxChartDefinitions } from '../cluster/fluxCharts.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { until } from '../make/until.ts'
import { type ChartRegistry, startChartRegistry } from '../worlds/chartRegistry.ts'
import { fluxStatus } from '../worlds/fluxPlay.ts'
import { callOwn } from '../worlds/ownFacade.ts'

type Install = {
  id: string
  status: string
  phase: string
  version: string
  message: string | null
  canResume: boolean
}
type Chart = KubeObject & { spec: { url: string; ref: { tag: string; digest?: string } } }
type Release = KubeObject & { spec: { valuesFrom?: { valuesKey: string }[] }; status?: object }

const at = (name: string) => ({ namespace: SYSTEM_NAMESPACE, name })

/** The CRDs are Flux's own; its controllers cannot run here and are simulated. */
describe('components of the platform, with the CRDs of Flux', () => {
  let own: OwnPlatform
  let registry: ChartRegistry
  let settings: Record<string, string>

  before(async () => {
    registry = await startChartRegistry()
    settings = { PLATFORM_HEALTH_SETTLE_SECONDS: '0', PLATFORM_CHART_REGISTRY_URL: `${registry.url}/charts` }
    own = await borrowPlatform('plain')
    await own.startOperator(settings)
    await own.admin.create(PlatformComponent.resource, {
      apiVersion: PlatformComponent.apiVersion,
      kind: PlatformComponent.kind,
      metadata: at('shop'),
      spec: {
        ...{
          title: 'Shop',
          kind: 'Module',
          namespace: 'shop',
          chart: { name: 'shop', url: 'oci://example.com/a/shop' },
        },
        required: [{ key: 'auth.password', title: 'Password', isSecret: true }],
      },
    } as KubeObject)
  })
  after(async () => {
    await giveBack(own)
    await registry?.stop()
  })

  const call = <Body = Record<string, unknown>>(method: string, path: string, body?: object) =>
    callOwn<Body & { code?: string }>(own, method, `/lifecycle${path}`, body)

  /** Flux looks at the shop. */
  async function flux(failure?: string): Promise<void> {
    const [release, chart] = await Promise.all([
      own.admin.get<Release>(helmRelease, at('pcomp-shop')),
      own.admin.get<Chart>(ociRepository, at('pcomp-shop')),
    ])
    const status = fluxStatus(release, chart, { failure, now: new Date().toISOString() })
    await own.admin.mergePatch(helmRelease, at('pcomp-shop'), { status }, { subresource: 'status' })
  }

  /** When Flux was last asked to retry: the resumed install has asked too, so a repair shows by the difference. */
  const askedAt = async () =>
    (await own.admin.get(helmRelease, at('pcomp-shop'))).metadata.annotations?.['reconcile.fluxcd.io/forceAt']

  const reach = (id: string, ...states: string[]) =>
    until(`the install is ${states.join(' or ')}`, async () => {
      const { body } = await call<Install>('GET', `/installs/${id}`)
      return states.includes(`${body.status} ${body.phase}`) ? body : undefined
    })

  it('include the default components from the first start', async () => {
    const { body } = await call<{ items: { name: string }[] }>('GET', '/components?pageSize=100')
    expect(body.items.map(({ name }) => name)).to.include.members(Object.keys(DEFAULT_COMPONENTS))
  })

  it('include Freehold in its running version, upgraded by people only', async () => {
    const version = await fetch(`${own.platform.facadeUrl}/version`).then((answer) => answer.json())
    const { version: installedVersion } = version as { version: string }
    const shown = await until('the component is shown as installed', async () => {
      const { body } = await call('GET', '/components/freehold')
      return body.isInstalled === true ? body : undefined
    })
    expect(shown).to.include({ installedVersion, status: 'Ready', unselectableReason: 'ManualUpgrade', health: null })
    expect((await call('GET', '/components/freehold/installspec')).body).to.include({ version: installedVersion })
  })

  it('list their required values and their dependencies', async () => {
    const spec = await call<{ required: { key: string }[] }>('GET', '/components/shop/installspec')
    expect(spec.body.required.map(({ key }) => key)).to.deep.equal(['auth.password'])
    const { body } = await call<{ edges: object[] }>('GET', '/dependencies')
    const edge = { from: 'plugin-barman-cloud', to: 'cloudnative-pg', constraint: '>=0.23.0', kind: 'DependsOn' }
    expect(body.edges).to.deep.include(edge)
  })

  it('list releases after a refresh, and return 502 if no registry answers', async () => {
    registry.isAway = true
    const away = await call('POST', '/components/refresh')
    expect([away.status, away.body.code], away.text).to.deep.equal([502, 'FeedUnreachable'])
    registry.isAway = false
    registry.push('charts/shop', '1.0.0', {}, true)
    registry.push('charts/shop', '1.1.0')
    const read = await call<{ newReleases: number; problems: object[] }>('POST', '/components/refresh')
    expect(read.body, read.text).to.include({ newReleases: 2 })
    const { body } = await call<{ items: { version: string; isSigned: boolean }[] }>('GET', '/releases?component=shop')
    expect(body.items.map(({ version, isSigned }) => [version, isSigned])).to.deep.equal([
      ['1.1.0', false],
      ['1.0.0', true],
    ])
  })

  it('wait for Flux, are installed, and survive the death of the operator', async () => {
    const lacking = await call('POST', '/components/shop/install', {})
    expect([lacking.status, lacking.body.code], lacking.text).to.deep.equal([400, 'ValueMissing'])
    const wish = { version: '1.0.0', values: { 'auth.password': 'correct,horse' } }
    const begun = await call<Install>('POST', '/components/shop/install', wish)
    expect(begun.status, begun.text).to.equal(202)
    const { id } = begun.body
    expect((await reach(id, 'Paused Checking')).message).to.match(/Flux/)
    await installManifests(own.admin, await fluxChartDefinitions())
    const resume = () =>
      until('Flux is noticed', async () => {
        expect((await call('POST', `/installs/${id}/resume`)).status).to.equal(202)
        const { status, phase } = await reach(id, 'Paused Checking', 'Running Chart')
        return `${status} ${phase}` === 'Running Chart'
      })
    await resume()
    await until('the HelmRelease exists', () => own.admin.get(helmRelease, at('pcomp-shop')).catch(() => undefined))
    const chart = await own.admin.get<Chart>(ociRepository, at('pcomp-shop'))
    expect(chart.spec.url).to.equal(`oci://${new URL(registry.url).host}/charts/shop`)
    expect(chart.spec.ref.digest).to.match(/^sha256:/)
    const release = await own.admin.get<Release>(helmRelease, at('pcomp-shop'))
    expect(release.spec.valuesFrom?.map(({ valuesKey }) => valuesKey)).to.deep.equal(['shop.auth.password'])
    expect(JSON.stringify(release)).not.to.contain('correct,horse')
    await own.keepSeen()
    await own.endOperator('SIGKILL')
    await flux()
    await own.startOperator(settings)
    expect(await reach(id, 'Succeeded Finished')).to.include({ version: '1.0.0', canResume: false })
    const { body: ended } = await call<{ items: Install[] }>('GET', '/installs?filter=status:eq:Succeeded')
    expect(ended.items.map((one) => one.id)).to.deep.equal([id])
    const { body } = await call('GET', '/components/shop')
    expect(body).to.include({ status: 'Ready', installedVersion: '1.0.0', isOutdated: true })
    expect(body.values).to.deep.equal({ auth: { password: '***' } })
  })

  it('are refused by REST and by kubectl if already installed', async () => {
    const again = await call('POST', '/components/shop/install', {})
    expect([again.status, again.body.code], again.text).to.deep.equal([409, 'AlreadyInstalled'])
    const refused = await own.admin.remove(PlatformComponent.resource, at('shop')).catch((error: KubeError) => error)
    expect((refused as KubeError).denial?.message).to.match(/remove spec.version first/)
    await own.admin.create(ComponentInstall.resource, {
      apiVersion: ComponentInstall.apiVersion,
      kind: ComponentInstall.kind,
      metadata: at('again'),
      spec: { component: 'shop' },
    } as KubeObject)
    await until('the status reports why the install stopped', async () => {
      const { status } = await own.admin.get<KubeObject & { status?: { phase?: string; message?: string } }>(
        ComponentInstall.resource,
        at('again'),
      )
      return status?.phase === 'ConfigurationInvalid' && /already installed/.test(status.message ?? '')
    })
  })

  it('have no drift, and are repaired by another attempt after Helm failed', async () => {
    expect((await call<{ components: { name: string }[] }>('GET', '/drift')).body.components).to.deep.equal([])
    const before = await askedAt()
    const repair = await call<Install>('POST', '/components/shop/repair')
    expect(repair.status, repair.text).to.equal(202)
    await reach(repair.body.id, 'Running Chart')
    await until('Flux is asked again', async () => (await askedAt()) !== before)
    await flux('timed out waiting for the condition')
    expect((await reach(repair.body.id, 'Paused Chart')).message).to.contain('timed out')
    expect((await call('POST', `/installs/${repair.body.id}/resume`)).status).to.equal(202)
    await until('it is repaired', async () => {
      await flux()
      return (await call<Install>('GET', `/installs/${repair.body.id}`)).body.status === 'Succeeded'
    })
    const held = await own.admin.get<KubeObject & { data?: object }>(secret, at('install-configuration'))
    expect(Object.keys(held.data ?? {})).to.deep.equal(['shop.auth.password'])
  })
})
