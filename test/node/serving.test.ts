import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import { pushEngines, pushLibrary } from '../../scripts/node/library.ts'
import { installPrometheus } from '../../scripts/node/prometheus.ts'
import { installRelationalEngine } from '../../scripts/node/relationalEngine.ts'
import { expectCall, expectRemoved, makeBoundary, makeGroup, until } from '../worlds/platform.ts'
import { administrator, PLATFORM_VARIABLE, testPlatform } from '../worlds/tenant.ts'
import { servedThroughout } from './load.ts'
import { PublicHosts } from './publicHosts.ts'
import { testNode } from './shell.ts'

const run = promisify(execFile)
const ROOT = resolve(import.meta.dirname, '../..')
const EXAMPLES = join(ROOT, 'examples/serving')

type App = { status: string; statusMessage: string; publicUrl: string | null; servingRevision: number | null }

const [NODE_MAJOR] = process.versions.node.split('.')

/** Answers according to its variables. */
const SERVER = `
const { FAULT, GREETING = 'well' } = process.env
if (FAULT === 'crash') setTimeout(() => process.exit(7), 2_000)
require('node:http').createServer((request, response) => {
  response.statusCode = FAULT === 'unready' ? 503 : 200
  response.end(GREETING)
}).listen(process.env.PORT)`

describe('from source to serving, on a node', () => {
  let home: string
  let hosts: PublicHosts
  let environment: NodeJS.ProcessEnv
  let path: string

  before(async () => {
    const search = { progress: silentProgress, signal: undefined }
    await pushEngines(await testNode(), search)
    await pushLibrary(await testNode(), search)
    const client = await administrator()
    await installPrometheus({ node: await testNode(), client }, search).finally(() => client.close())
    hosts = new PublicHosts()
    home = await mkdtemp(join(tmpdir(), 'freehold-serving-'))
    await mkdir(join(home, 'bin'))
    await symlink(join(ROOT, 'bin/freehold.mjs'), join(home, 'bin/freehold'))
    const programs = [join(home, 'bin'), dirname(process.execPath), process.env.PATH].join(':')
    environment = { PATH: programs, HOME: home, AUTHORITY: testPlatform().certificateAuthority }
    const { id } = await makeBoundary()
    const group = (await makeGroup(id)).name
    path = `/boundaries/${id}/resourcegroups/${group}/resources/apps`
    await freehold('setup', '--dev', process.env[PLATFORM_VARIABLE] ?? '')
    await freehold('use', '--boundary', id, '--group', group)
  })
  after(async () => {
    await hosts?.close()
    if (home !== undefined) await rm(home, { recursive: true, force: true })
  })

  const freehold = (...words: string[]) => run('freehold', words, { env: environment })

  /** A node with two cores has no room for a build beside what the examples leave. */
  async function remove(...places: readonly string[]): Promise<void> {
    for (const place of places) await expectCall(202, 'DELETE', `${dirname(path)}/${place}`)
  }

  /** Runs an example as a person would, and shows what it printed. */
  async function example(name: string, words: readonly string[] = [], more: NodeJS.ProcessEnv = {}): Promise<string> {
    const script = join(EXAMPLES, `${name}.sh`)
    const show = (stdout: string) => console.log(stdout.trim().replaceAll(/^/gm, '      '))
    try {
      const { stdout } = await run('sh', [script, ...words], { env: { ...environment, ...more }, cwd: home })
      show(stdout)
      return stdout
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string }
      throw new Error(`${stderr}\n${stdout.slice(-3_000)}`)
    }
  }

  it('serves a folder, then a changed line, then the first revision after a rollback', async () => {
    const output = await example('folder')
    expect(output).to.include('Hello from the new shop').and.to.include('The first page was back')
    type Counted = {
      isComplete: boolean
      totals: { requests: number; bytesOut: number; p95Milliseconds: number | null }
    }
    const counted = await until('its requests are counted', async () => {
      const { isComplete, totals } = (await expectCall<Counted>(200, 'GET', `${path}/shop/metrics/web`)).body
      return totals.requests > 0 && { isComplete, ...totals }
    })
    expect(counted.bytesOut).to.be.above(0)
    expect(counted.p95Milliseconds).to.be.above(0)
    await remove('apps/shop')
  })

  it('serves each push to a real Git host', async () => {
    expect(await example('git')).to.include('Hello from the pushed shop')
    await remove('apps/shop-from-git')
  })

  it('scales a function from zero, answers 50 concurrent calls, and scales to zero', async () => {
    const output = await example('function')
    expect(output, 'the test call').to.include('Hello, test\n')
    expect(output)
      .to.include('Hello, you')
      .and.to.match(/^\s*50 200$/m)
  })

  it('runs the function by a timer, and counts the run', async () => {
    type Function = { triggers: { name: string; lastRunAt: string | null }[] }
    type Metrics = { series: { name: string; points: { value: number }[] }[] }
    // Where the next step of the metrics starts, so that no earlier call counts.
    const from = Math.ceil(Date.now() / 15_000) * 15
    const place = `${dirname(path)}/functionnamespaces/greetings/functions/hello`
    const { body } = await expectCall<Function>(200, 'GET', place)
    const minutely = { name: 'minutely', kind: 'Timer', schedule: '* * * * *' }
    await expectCall(200, 'PUT', place, { ...body, triggers: [...body.triggers, minutely] })
    const hasFired = async () => {
      const { triggers } = (await expectCall<Function>(200, 'GET', place)).body
      return triggers.some(
        ({ name, lastRunAt }) => name === 'minutely' && lastRunAt !== null && Date.parse(lastRunAt) / 1000 >= from,
      )
    }
    await until('the timer has fired', hasFired, 120_000)
    const worst = async (name: string) => {
      const { series } = (await expectCall<Metrics>(200, 'GET', `${place}/metrics?from=${from}&step=15s`)).body
      return Math.max(0, ...(series.find((one) => one.name === name)?.points ?? []).map(({ value }) => value))
    }
    await until('its run is counted', async () => (await worst('Invocations')) > 0)
    expect(await worst('Errors')).to.equal(0)
    await expectRemoved(`${dirname(path)}/functionnamespaces/greetings`)
  })

  it('connects an app to the SQL instance that it refers to', async () => {
    expect(await example('database')).to.include('buy milk')
    await remove('apps/notes', 'sqlclusters/notes')
  })

  it('connects an app to a PostgreSQL of CloudNativePG', async () => {
    const client = await administrator()
    try {
      const home = { node: await testNode(), client, kubectl: testPlatform().kubectlPath }
      const version = await installRelationalEngine(home, { progress: silentProgress, signal: undefined })
      const output = await example('database', ['lists', 'postgresql'], { POSTGRESQL_VERSION: version })
      expect(output).to.include('buy milk')
      await remove('apps/lists', 'relationalclusters/lists')
    } finally {
      await client.close()
    }
  })

  /** A folder of sources, of that name. */
  async function sources(name: string, files: Readonly<Record<string, string>>): Promise<string> {
    const folder = join(home, name)
    await mkdir(folder)
    for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text)
    return folder
  }
  const SERVICE = {
    'package.json': '{"name": "service", "scripts": {"start": "node server.js"}}',
    'server.js': SERVER,
  }

  it('lets a build start from the image of its own app, and not of another boundary', async () => {
    await freehold('deploy', await sources('origin', SERVICE))
    const { items } = (
      await expectCall<{ items: { containerImage: string }[] }>(200, 'GET', `${path}/origin/deployments`)
    ).body
    const image = items[0]?.containerImage
    expect(image).to.include('/apps/origin')
    const derived = await sources('derived', { Dockerfile: `FROM ${image}\nENV GREETING=derived\n` })
    await freehold('deploy', derived, '--name', 'origin')
    const { publicUrl } = (await expectCall<App>(200, 'GET', `${path}/origin`)).body
    await until('it serves what begins with its own image', async () => {
      const { text } = await hosts.get(publicUrl ?? '')
      return text === 'derived'
    })
    const other = await makeBoundary()
    const elsewhere = ['--boundary', other.id, '--group', (await makeGroup(other.id)).name]
    for (const [name, dockerfile] of [
      ['thief', `FROM ${image}\n`],
      ['copyist', `FROM library/node:${NODE_MAJOR}-slim\nCOPY --from=${image} / /all\n`],
    ] as const) {
      const folder = await sources(name, { Dockerfile: dockerfile })
      const failed = await freehold('deploy', folder, ...elsewhere).catch((error: unknown) => error)
      expect((failed as { stderr: string }).stderr, name).to.match(
        /The image \S+\/apps\/origin\S+, .* cannot be pulled/,
      )
    }
  })

  describe('under fifty requests a second', () => {
    const name = 'robust'
    let folder: string
    let url: string

    const app = async () => (await expectCall<App>(200, 'GET', `${path}/${name}`)).body
    const untilSaid = (words: RegExp) =>
      until(`it says ${words}`, async () => {
        const { status, statusMessage } = await app()
        if (words.test(statusMessage)) return true
        throw new Error(`${status}: ${statusMessage}`)
      })
    const untilServed = (wanted: string) =>
      until(`it serves ${wanted}`, async () => {
        const { status, text } = await hosts.get(url)
        if (status === 200 && text === wanted) return true
        throw new Error(`${status} ${text.slice(0, 100)}`)
      })

    before(async () => {
      folder = await sources(name, SERVICE)
      await freehold('deploy', folder)
      url = (await app()).publicUrl ?? ''
      await untilServed('well')
    })

    it('keeps serving when a build fails, and reports the reason', async () => {
      const broken = join(home, 'broken')
      await cp(folder, broken, { recursive: true })
      await writeFile(join(broken, 'package.json'), '{"name": "robust", "scripts": {"build": "node none.js"}}')
      await servedThroughout(hosts, url, async () => {
        const failed = await freehold('deploy', broken, '--name', name).catch((error: unknown) => error)
        expect((failed as { code: number }).code).to.equal(6)
        expect((failed as { stderr: string }).stderr).to.include('is not served: Failed: ')
      })
      await untilServed('well')
    })

    const faults: [sentence: string, change: object, words: RegExp][] = [
      [
        'a release command that fails',
        { releaseCommand: 'node -e "process.exit(3)"', env: [{ name: 'GREETING', value: 'never' }] },
        /release command failed/,
      ],
      ['a process that ends after its start', { env: [{ name: 'FAULT', value: 'crash' }] }, /exit code 7|ended/],
      ['a process that never becomes ready', { env: [{ name: 'FAULT', value: 'unready' }] }, /ready|probe/],
    ]
    for (const [sentence, change, words] of faults) {
      it(`keeps serving with ${sentence}, and reports the reason`, async () => {
        await servedThroughout(hosts, url, async () => {
          await expectCall(200, 'PATCH', `${path}/${name}`, change)
          await untilSaid(words)
          await untilServed('well')
        })
        console.log(`      ${(await app()).statusMessage}`)
        await servedThroughout(hosts, url, async () => {
          await expectCall(200, 'PATCH', `${path}/${name}`, { env: [], releaseCommand: null })
          await until('it runs again', async () => (await app()).status === 'Running')
        })
      })
    }
  })
})
