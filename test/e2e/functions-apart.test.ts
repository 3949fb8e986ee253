// @inTurn plain: runs the parts of the platform as processes of their own, as an installation does.
import { expect } from 'chai'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { functionObjectName } from '../../src/contracts/functions.ts'
import { groupNamespace } from '../../src/core/names.ts'
import { FunctionNamespace, ServerlessFunction } from '../../src/crds/functions.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { until } from '../make/until.ts'
import { callFunction } from '../worlds/activatorWorld.ts'
import { callOwn } from '../worlds/ownFacade.ts'

type Metrics = { isComplete: boolean; series: { name: string; points: { value: number }[] }[] }

describe('functions with an activator in a process of its own', () => {
  let own: OwnPlatform
  let activatorUrl: string
  let figuresUrl: string

  before(async () => {
    own = await borrowPlatform('plain')
    const { calls, figures } = await choosePorts(own.controlPlane.folder, ['calls', 'figures'])
    activatorUrl = `http://127.0.0.1:${calls}`
    figuresUrl = `http://127.0.0.1:${figures}`
    await own.startOperator({ PLATFORM_ROLE: 'facade', PLATFORM_FIGURES_URL: figuresUrl })
    await own.startReplica('controllers')
    await own.startReplica('activator', {
      PLATFORM_ACTIVATOR_PORT: String(calls),
      PLATFORM_FIGURES_PORT: String(figures),
    })
  })
  after(() => giveBack(own))

  async function call<Body>(expected: number, method: string, path: string, body?: object): Promise<Body> {
    const answer = await callOwn<Body>(own, method, path, body, { isPatient: expected !== 503 })
    expect(answer.status, `${method} ${path}: ${answer.text}`).to.equal(expected)
    return answer.body
  }

  /** A function that anybody may call, with its path and its host. */
  async function makeFunction(): Promise<{ path: string; host: string }> {
    const boundary = await until('a boundary may be made', () =>
      call<{ id: string }>(201, 'POST', '/boundaries', { displayName: 'Apart' }),
    )
    const group = `/boundaries/${boundary.id}/resourcegroups/shop`
    await call(201, 'POST', group)
    const home = `${group}/resources/functionnamespaces/home`
    await until('the group takes resources', async () => {
      await call(201, 'POST', home, { runtime: 'nodejs' })
      return true
    })
    const triggers = [{ name: 'web', kind: 'Http', path: '/hello', authLevel: 'Anonymous' }]
    await call(201, 'POST', `${home}/functions/hello`, { handler: 'index', triggers })
    const namespace = groupNamespace(boundary.id, 'shop')
    const image = { spec: { image: 'docker.io/library/hello:1' } }
    const ref = { namespace, name: functionObjectName('home', 'hello') }
    await own.admin.mergePatch(ServerlessFunction.resource, ref, image)
    const host = await until('it has a host', async () => {
      const { status } = await own.admin.get(FunctionNamespace.resource, { namespace, name: 'home' })
      return (status as FunctionNamespace['status'])?.publicHost
    })
    return { path: `${home}/functions/hello`, host }
  }

  it('show calls in their metrics, and no points while the activator is away', async () => {
    const { path, host } = await makeFunction()
    const before = Math.floor(Date.now() / 1000)
    await until('the activator knows it', async () => {
      const { status } = await callFunction(activatorUrl, '/hello', { headers: { host } })
      return status === 503
    })
    const invocations = async () => {
      const { isComplete, series } = await call<Metrics>(200, 'GET', `${path}/metrics?from=${before}&step=15s`)
      const points = series.find(({ name }) => name === 'Invocations')?.points ?? []
      return { isComplete, points, greatest: Math.max(0, ...points.map(({ value }) => value)) }
    }
    const shown = await until('the call is shown', async () => {
      const found = await invocations()
      return found.greatest > 0 && found
    })
    expect(shown.isComplete).to.equal(true)
    const asked = '/calls?namespace=a&name=b'
    expect((await fetch(`${figuresUrl}${asked}`)).status, 'at the port for facades').to.equal(200)
    expect((await callFunction(activatorUrl, asked, { headers: { host } })).status, 'at the port for callers').to.equal(
      404,
    )
    const tried = await call<{ error: string }>(503, 'POST', `${path}/invoke`, {})
    expect(tried.error, 'the activator took the test call').to.include('Pods are simulated')
    await own.endReplica('activator')
    const late = await call<{ error: string }>(503, 'POST', `${path}/invoke`, {})
    expect(late.error).to.include('cannot be made at the moment')
    const ended = await invocations()
    expect([ended.isComplete, ended.points]).to.deep.equal([false, []])
  })
})
