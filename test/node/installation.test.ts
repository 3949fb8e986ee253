import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { until } from '../make/until.ts'
import { Installation, REPLICAS } from './installation.ts'

/** Requests a second while everything is replaced. */
const RATE = 50
/** Limit of concurrent requests: a slower machine is asked more slowly. */
const AT_ONCE = 10

/** Asks again and again until it is stopped. */
class Load {
  readonly #failures: string[] = []
  readonly ask: (number: number) => Promise<{ status: number; text: string }>
  readonly #pending = new Set<Promise<void>>()
  readonly #ended: Promise<void>
  #isOn = true
  #count = 0

  constructor(ask: (number: number) => Promise<{ status: number; text: string }>) {
    this.ask = ask
    this.#ended = this.#run()
  }

  async #run(): Promise<void> {
    for (; this.#isOn; await delay(1000 / RATE)) {
      if (this.#pending.size >= AT_ONCE) continue
      const one = this.#one(this.#count++).finally(() => this.#pending.delete(one))
      this.#pending.add(one)
    }
  }

  async #one(number: number): Promise<void> {
    try {
      const { status, text } = await this.ask(number)
      if (status >= 300) this.#failures.push(`${number}: ${status} ${text.slice(0, 200)}`)
    } catch (error) {
      const { message, cause } = error as Error
      this.#failures.push(`${number}: ${message} ${cause instanceof Error ? cause.message : ''}`)
    }
  }

  async stop(): Promise<{ count: number; failures: string[] }> {
    this.#isOn = false
    await this.#ended
    await Promise.all(this.#pending)
    return { count: this.#count, failures: this.#failures }
  }
}

async function underLoad(ask: Load['ask'], work: () => Promise<void>): Promise<{ count: number; failures: string[] }> {
  const load = new Load(ask)
  try {
    await work()
  } finally {
    await load.stop()
  }
  return load.stop()
}

type Pod = { spec: { containers: { image: string }[] } }

describe('installation on a cluster, with image and manifests', () => {
  let installation: Installation
  let boundary: string

  before(async () => {
    installation = await Installation.make()
    const { status, text } = await installation.call('POST', '/boundaries', { displayName: 'Shop' })
    expect(status).to.equal(201)
    boundary = `/boundaries/${JSON.parse(text).id}`
  })
  after(() => installation?.stop())

  const running = async (group: string) => {
    const path = `${boundary}/resourcegroups/${group}`
    expect((await installation.call('POST', path)).status).to.equal(201)
    await until(`${group} is running`, async () => {
      const { text } = await installation.call('GET', path)
      return JSON.parse(text).status === 'Running'
    })
  }

  it('serves REST, and reconciles a group', () => running('first'))

  it('runs the replicas of each part as user 65532 on read-only file systems', async () => {
    const { items } = JSON.parse(await installation.kubectl('get', 'pods', '-o', 'json'))
    const names = (items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name)
    for (const [part, replicas] of Object.entries(REPLICAS))
      expect(
        names.filter((name) => name.startsWith(`freehold-${part}-`)),
        part,
      ).to.have.length(replicas)
    const script = `
      const { globSync, writeFileSync } = require('node:fs')
      const tests = globSync('/app/src/**/*.test.ts').length
      const sources = globSync('/app/src/**/*.ts').length > 100
      const written = ['/app/x', '/tmp/x', '/x'].filter((path) => { try { writeFileSync(path, ''); return true } catch { return false } })
      console.log(JSON.stringify({ user: process.getuid(), group: process.getgid(), written, sources, tests }))`
    for (const name of names) {
      const output = await installation.kubectl('exec', name, '--', '/nodejs/bin/node', '-e', script)
      expect(JSON.parse(output), name).to.deep.equal({
        user: 65532,
        group: 65532,
        written: [],
        sources: true,
        tests: 0,
      })
    }
  })

  it('is upgraded under load, writes included, without a failed request', async () => {
    const ask = (number: number) =>
      number % 10 === 0
        ? installation.call('PATCH', boundary, { displayName: `Shop ${number}` })
        : installation.call('GET', boundary)
    const { count, failures } = await underLoad(ask, async () => {
      await installation.upgrade()
      // The old replicas are told to end when the new ones are ready, and still receive the last requests.
      await until('only the new replicas are left', async () => {
        const { items } = JSON.parse(await installation.kubectl('get', 'pods', '-o', 'json'))
        const images = (items as Pod[]).flatMap(({ spec }) => spec.containers.map(({ image }) => image))
        const wanted = Object.values(REPLICAS).reduce((sum, one) => sum + one)
        if (images.length !== wanted || images.some((image) => !image.endsWith(':today')))
          throw new Error(images.join())
        return true
      })
    })
    expect(failures, failures.slice(0, 3).join('\n')).to.deep.equal([])
    expect(count).to.be.greaterThan(50)
    await running('second')
  })

  it('is uninstalled without leftovers', async () => {
    expect(await installation.uninstall()).to.deep.equal([])
  })
})
