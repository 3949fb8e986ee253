// @inTurn plain: runs the parts of the platform as processes of their own, as an installation does.
import { expect } from 'chai'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { until } from '../make/until.ts'
import { callFunction } from '../worlds/activatorWorld.ts'
import { callOwnFor, createOwnFunction } from '../worlds/ownFunction.ts'

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

  it('show calls in their metrics, and no points while the activator is away', async () => {
    const triggers = [{ name: 'web', kind: 'Http', path: '/hello', authLevel: 'Anonymous' }]
    const { path, host } = await createOwnFunction(own, 'Apart', { triggers })
    const before = Math.floor(Date.now() / 1000)
    await until('the activator knows it', async () => {
      const { status } = await callFunction(activatorUrl, '/hello', { headers: { host } })
      return status === 503
    })
    const invocations = async () => {
      const { isComplete, series } = await callOwnFor<Metrics>(
        own,
        200,
        'GET',
        `${path}/metrics?from=${before}&step=15s`,
      )
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
    const tried = await callOwnFor<{ error: string }>(own, 503, 'POST', `${path}/invoke`, {})
    expect(tried.error, 'the activator took the test call').to.include('Pods are simulated')
    await own.endReplica('activator')
    const late = await callOwnFor<{ error: string }>(own, 503, 'POST', `${path}/invoke`, {})
    expect(late.error).to.include('cannot be made at the moment')
    const ended = await invocations()
    expect([ended.isComplete, ended.points]).to.deep.equal([false, []])
  })
})
