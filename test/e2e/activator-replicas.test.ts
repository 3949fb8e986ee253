// @inTurn plain: runs two activators as processes of their own, and ends them.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { ACTIVATOR_LEASE } from '../../src/contracts/functions.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { ObjectRef } from '../../src/core/object.ts'
import { ServerlessFunction } from '../../src/crds/functions.ts'
import { readLease } from '../../src/kube/lease.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { until } from '../make/until.ts'
import { callFunction } from '../worlds/activatorWorld.ts'
import { createOwnFunction } from '../worlds/ownFunction.ts'

/** Calls that a copy answers at once. */
const CONCURRENCY = 2
const CALLERS = 6

type Activator = { calls: string; figures: string; peer: string }
type Call = { began: number; ended: number; outcome: number | string }

/** What the copies of the function got. */
class Copies {
  readonly servers: Server[] = []
  readonly runs: string[] = []
  readonly callers = new Set<string>()
  greatest = 0

  async start(): Promise<string> {
    let inFlight = 0
    const server = createServer((request, response) => {
      inFlight += 1
      this.greatest = Math.max(this.greatest, inFlight)
      response.once('close', () => {
        inFlight -= 1
      })
      this.callers.add(String(request.headers['x-forwarded-for']))
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString()
        if (request.headers['x-function-event'] === 'timer') this.runs.push(body)
        setTimeout(() => response.end(body), 20)
      })
    })
    this.servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return `127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  async stop(): Promise<void> {
    for (const server of this.servers) {
      server.closeAllConnections()
      await once(server.close(), 'close')
    }
  }
}

describe('two activators', () => {
  let own: OwnPlatform
  let host: string
  const copies = new Copies()
  const activators: Activator[] = []

  before(async () => {
    own = await borrowPlatform('plain')
    await own.startOperator({ PLATFORM_ROLE: 'facade' })
    await own.startReplica('controllers')
    const addresses = [await copies.start(), await copies.start()]
    const ref = await makeFunction()
    // The copies are this test's: the controllers would name those that do not run.
    await own.endReplica('controllers')
    await own.admin.mergePatch(
      ServerlessFunction.resource,
      ref,
      { status: { copies: addresses } },
      { subresource: 'status' },
    )
    await startActivator()
    // Whoever chooses ports holds all that are not in use for a moment.
    await until('the first one leads', async () => (await fetch(`http://${activators[0]?.peer}`)).status === 404)
    await startActivator()
    await until('the function answers', async () => {
      const answers = await Promise.all(
        activators.map(({ calls }) => callFunction(calls, '/hello', { headers: { host } })),
      )
      return answers.every(({ status }) => status === 200)
    })
  })
  after(async () => {
    await giveBack(own)
    await copies.stop()
  })

  /** A function that anybody may call, with a timer of every minute. */
  async function makeFunction(): Promise<ObjectRef> {
    const triggers = [
      { name: 'web', kind: 'Http', path: '/hello', authLevel: 'Anonymous', methods: ['GET', 'POST'] },
      { name: 'often', kind: 'Timer', schedule: '* * * * *' },
    ]
    const made = await createOwnFunction(own, 'Replicas', { triggers, concurrency: CONCURRENCY })
    host = made.host
    await until('its path is claimed', async () => {
      const { status } = await own.admin.get(ServerlessFunction.resource, made.ref)
      return (status as ServerlessFunction['status'])?.paths?.includes('/hello') === true
    })
    return made.ref
  }

  async function startActivator(): Promise<void> {
    const named = (what: string) => `${what}-${activators.length}`
    const chosen = await choosePorts(own.controlPlane.folder, ['calls', 'figures', 'peers'].map(named))
    const portOf = (what: string) => String(chosen[named(what)])
    await own.startReplica('activator', {
      PLATFORM_ENGINES: 'real',
      PLATFORM_LEADER_ELECTION: 'true',
      PLATFORM_ACTIVATOR_PORT: portOf('calls'),
      PLATFORM_FIGURES_PORT: portOf('figures'),
      PLATFORM_ACTIVATOR_PEER_HOST: '127.0.0.1',
      PLATFORM_ACTIVATOR_PEER_PORT: portOf('peers'),
      PLATFORM_DRAIN_SECONDS: '2',
    })
    activators.push({
      calls: `http://127.0.0.1:${portOf('calls')}`,
      figures: `http://127.0.0.1:${portOf('figures')}`,
      peer: `127.0.0.1:${portOf('peers')}`,
    })
  }

  /** The activator that leads, its process, and the other one. */
  async function roles(): Promise<{ pid: number; leader: Activator; standby: Activator }> {
    return until('one leads', async () => {
      const lease = await readLease(own.admin, { namespace: SYSTEM_NAMESPACE, name: ACTIVATOR_LEASE })
      const [, pid, peer] = /-(\d+)-\d+@(.*)$/.exec(lease?.spec?.holderIdentity ?? '') ?? []
      const leader = activators.find((each) => each.peer === peer)
      const standby = activators.findLast((each) => each.peer !== peer)
      return leader !== undefined && standby !== undefined && { pid: Number(pid), leader, standby }
    })
  }

  const isRunning = (pid: number) => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }

  /** Callers that call one after the other until `stop`. */
  function startCallers(url: string) {
    const calls: Call[] = []
    let isEnding = false
    const one = async (number: number) => {
      while (!isEnding) {
        const began = performance.now()
        const sent = number % 2 === 0 ? {} : { method: 'POST', body: 'x'.repeat(1000) }
        const outcome = await callFunction(url, '/hello', { headers: { host }, ...sent }).then(
          ({ status }) => status,
          (error: NodeJS.ErrnoException) => error.code ?? error.message,
        )
        calls.push({ began, ended: performance.now(), outcome })
      }
    }
    const all = Array.from({ length: CALLERS }, (_, number) => one(number))
    return {
      calls,
      answered: () => calls.filter(({ outcome }) => outcome === 200).length,
      async stop() {
        isEnding = true
        await Promise.all(all)
        return calls
      },
    }
  }

  const longestGap = (calls: readonly Call[], from: number) => {
    const ends = calls.filter(({ outcome, ended }) => outcome === 200 && ended >= from).map(({ ended }) => ended)
    return Math.max(...ends.map((ended, index) => ended - (ends[index - 1] ?? from)))
  }

  it('answer calls, whichever gets them, and hand on the address of the caller', async () => {
    const { standby } = await roles()
    copies.callers.clear()
    const headers = { host, 'x-freehold-forwarded': '6.6.6.6' }
    const body = 'y'.repeat(100_000)
    const answer = await callFunction(standby.calls, '/hello', { method: 'POST', headers, body })
    expect([answer.status, answer.text === body]).to.deep.equal([200, true])
    expect([...copies.callers]).to.deep.equal(['127.0.0.1'])
    expect((await callFunction(standby.calls, '/nothing', { headers: { host } })).status).to.equal(404)
    const asked = await fetch(`${standby.figures}/calls?namespace=a&name=b`)
    expect(asked.status, 'where facades ask').to.equal(200)
  })

  it('answer again when the one that leads was killed: only calls in it fail', async () => {
    const { pid, standby } = await roles()
    const callers = startCallers(standby.calls)
    await until('calls are answered', () => callers.answered() > 50)
    const killed = performance.now()
    process.kill(pid, 'SIGKILL')
    await until('it has ended', () => !isRunning(pid))
    const ended = performance.now()
    const before = callers.answered()
    await until('calls are answered again', () => callers.answered() > before + 50)
    const calls = await callers.stop()
    const failed = calls.filter(({ outcome }) => outcome !== 200)
    console.log(
      `      ${(longestGap(calls, killed) / 1000).toFixed(1)} s without answers, ${failed.length} calls failed`,
    )
    expect(failed.filter(({ began }) => began > ended)).to.deep.equal([])
    // The kernel closes its connections before its port, so a caller may get through once more while it ends.
    expect(failed.filter(({ began }) => began < killed).length).to.be.at.most(CALLERS)
  })

  it('lose no call when the one that leads is stopped', async () => {
    await startActivator()
    const { pid, leader, standby } = await roles()
    const both = [startCallers(standby.calls), startCallers(leader.calls)]
    await until('calls are answered', () => both.every((callers) => callers.answered() > 50))
    const stopped = performance.now()
    process.kill(pid, 'SIGTERM')
    await until('the other leads', async () => (await roles()).leader === standby)
    const direct = await both[1]?.stop()
    await until('it has ended', () => !isRunning(pid))
    const before = both[0]?.answered() ?? 0
    await until('calls are answered', () => (both[0]?.answered() ?? 0) > before + 50)
    const calls = (await both[0]?.stop()) ?? []
    console.log(`      ${(longestGap(calls, stopped) / 1000).toFixed(1)} s without answers`)
    expect([...calls, ...(direct ?? [])].filter(({ outcome }) => outcome !== 200)).to.deep.equal([])
  })

  it('answer again while the one that led is paused, which ends when it goes on', async () => {
    await startActivator()
    const { pid, standby } = await roles()
    const callers = startCallers(standby.calls)
    await until('calls are answered', () => callers.answered() > 50)
    const paused = performance.now()
    process.kill(pid, 'SIGSTOP')
    try {
      const before = callers.answered()
      await until('calls are answered again', () => callers.answered() > before + 50)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await until('it has ended', () => !isRunning(pid))
    const calls = await callers.stop()
    const failed = calls.filter(({ outcome }) => outcome !== 200)
    console.log(
      `      ${(longestGap(calls, paused) / 1000).toFixed(1)} s without answers, ${failed.length} calls failed`,
    )
    expect(failed.length).to.be.at.most(CALLERS)
    expect((await roles()).leader).to.equal(standby)
  })

  it('never give a copy more calls than it takes, and fire a timer once', async () => {
    expect(copies.greatest).to.equal(CONCURRENCY)
    await until('the timer fires', () => copies.runs.length > 0)
    expect(new Set(copies.runs).size).to.equal(copies.runs.length)
  })
})
