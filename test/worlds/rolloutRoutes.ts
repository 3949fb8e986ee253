import { randomUUID } from 'node:crypto'
import { FakeClusterInspector, FakeRoleCeiling } from '../../src/adapters/clusterinspector/fake.ts'
import type { Services } from '../../src/api/http/context.ts'
import { releaseName } from '../../src/contracts/lifecycle.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { ComponentRelease, PlatformComponent } from '../../src/crds/lifecycle.ts'
import { RolloutExecution } from '../../src/crds/rollouts.ts'
import { request } from '../make/request.ts'
import { bearer, startFacade } from './facadeServer.ts'

export const PLANS = '/lifecycle/rollouts/plans'
export const ROLLOUTS = '/lifecycle/rollouts/executions'
export const DRIFT = '/lifecycle/platform-drift'
export const LAST = randomUUID()

/**
 * The routes of rollouts for a simulated cluster, with two components that have a newer release. For the body of a
 * `describe`.
 */
export function rolloutRoutes() {
  const owner = randomUUID()
  const reader = randomUUID()
  let facade: Awaited<ReturnType<typeof startFacade>>
  let inspector: FakeClusterInspector

  const ports: Services['rollouts'] = {
    get inspector() {
      return inspector
    },
    ceiling: new FakeRoleCeiling(),
    version: '1.0.0',
  }

  beforeEach(async () => {
    inspector = new FakeClusterInspector()
    inspector.found = {
      ...inspector.found,
      backups: { value: { target: 'Available', lastAt: new Date().toISOString() } },
    }
    facade = await startFacade({}, { rollouts: ports })
    facade.grant(owner, 'Platform Owner', '/')
    facade.grant(reader, 'Platform Reader', '/')
    component('cnpg', { kind: 'ThirdPartyChart' })
    component('facade', { kind: 'Module' })
    release('cnpg')
    release('facade')
  })
  afterEach(() => facade.stop())

  const call = async (
    method: 'get' | 'post',
    path: string,
    body?: object,
    who = owner,
    headers: Record<string, string> = {},
  ) => {
    const asked = request(facade.app)[method](path).set('authorization', bearer(who))
    const answer = await asked.set(headers).send(body)
    return { status: answer.status, body: answer.body, code: answer.body?.code as string | undefined }
  }
  const outcomeOf = async (...given: Parameters<typeof call>) => {
    const { status, code } = await call(...given)
    return `${status} ${code ?? ''}`.trim()
  }
  const put = (kind: AnyKind, name: string, spec: object, status?: object) => {
    const object = { ...facade.put(kind, name, spec, SYSTEM_NAMESPACE), ...(status && { status }) } as KubeObject
    facade.client.seed(kind.resource, object)
    const stored = [...facade.client.stored(kind.resource)].find(({ metadata }) => metadata.name === name) as KubeObject
    facade.caches.get(kind.resource).observeWrite(stored)
  }
  const component = (name: string, spec: object, status: object = {}) =>
    put(
      PlatformComponent,
      name,
      { title: name, chart: { name, url: `oci://registry.test/${name}` }, ...spec },
      { state: 'Ready', installedVersion: '1.0.0', isManaged: true, ...status },
    )
  const release = (name: string, spec: object = {}) => {
    const digest = `sha256:${'0'.repeat(64)}`
    put(ComponentRelease, releaseName(name, '1.1.0'), {
      component: name,
      version: '1.1.0',
      digest,
      isSigned: true,
      ...spec,
    })
  }
  const plan = async (targetVersions: object = { cnpg: '1.1.0' }) =>
    (await call('post', PLANS, { targetVersions })).body.id
  const rollout = (status: object, spec: object = {}, name = LAST) =>
    put(
      RolloutExecution,
      name,
      { plan: 'some', ...spec },
      { batches: [], startedAt: '2026-01-01T00:00:00Z', ...status },
    )
  const paused = (code: string, more: object = {}) =>
    rollout({
      ...{ state: 'Paused', step: 'ThirdPartyCharts' },
      pause: { code, message: 'It waits.', canSkipSnapshot: false, platformDrift: [], ...more },
    })
  const ask = (route: string, body?: object) => outcomeOf('post', `${ROLLOUTS}/${LAST}/${route}`, body)
  const stored = async (name: string) => {
    const found = await facade.client.get(RolloutExecution.resource, { namespace: SYSTEM_NAMESPACE, name })
    return found as unknown as RolloutExecution
  }

  return {
    get facade() {
      return facade
    },
    get inspector() {
      return inspector
    },
    ...{ owner, reader, call, told: outcomeOf, put, component, release, plan, rollout, paused, ask, stored },
  }
}
