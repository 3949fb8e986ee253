import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { API_SERVICE_ADDRESS } from '../../scripts/controlplane/flags.ts'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import { NODE_ADDRESS, REGISTRY } from '../../scripts/node/addresses.ts'
import { BUILDER_IMAGE } from '../../scripts/node/builderImage.ts'
import { pushLibrary } from '../../scripts/node/library.ts'
import { builtDeployment } from '../../src/contracts/builds/labels.ts'
import {
  BUILD_CONTAINERS,
  BUILD_LABEL,
  BUILD_NAMESPACE,
  type BuildProgress,
  buildName,
} from '../../src/contracts/builds/progress.ts'
import type { BuildRecipe, BuildRequest, BuildSettings, BuildSource } from '../../src/contracts/builds/request.ts'
import { startBuild } from '../../src/controllers/builds.ts'
import { groupNamespace } from '../../src/core/names.ts'
import { type BuildJob, type BuildPod, observeBuild } from '../../src/desired/builds/index.ts'
import { job, pod } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { type HostileBuild, hostileBuilds } from '../cases/hostileSources/dockerfiles.ts'
import { makeBoundary, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'
import { type Files, Ground, HOST, HOST_PORT, PUSHED_PORT, PUSHED_TO } from './builds/ground.ts'
import { podIn, testNode } from './shell.ts'

const run = promisify(execFile)

const SETTINGS: BuildSettings = {
  image: BUILDER_IMAGE,
  isRegistryInsecure: true,
  imageMirror: REGISTRY,
  networks: [{ cidr: `${NODE_ADDRESS}/32`, ports: [5000, HOST_PORT, PUSHED_PORT] }],
  packageMirrors: { npm: `${HOST}/` },
  cpuLimit: '2',
  memoryLimit: '2Gi',
  diskLimit: '4Gi',
  diskRequest: '128Mi',
}
const RECIPE: BuildRecipe = { purpose: 'Service', rootPath: '/', port: 8080, environment: [], timeoutSeconds: 300 }

/** The number of concurrent builds. */
const AT_ONCE = 4

type Ended = BuildProgress & { log: string; image: string; seconds: number; times: string; phases: string[] }

const durations = ({ seconds, times, log }: Ended) =>
  `${seconds.toFixed(1)} s (${times}; ${log.match(/DONE [1-9][\d.]+s/g)?.join(', ')})`

type Timed = { name: string; state?: { terminated?: { startedAt: string; finishedAt: string } } }

/** The duration of each part, in whole seconds. */
function timesOf(found: BuildPod | undefined): string {
  const { initContainerStatuses = [], containerStatuses = [] } = found?.status ?? {}
  const parts = ([...initContainerStatuses, ...containerStatuses] as unknown as Timed[]).map(({ name, state }) => {
    const { startedAt = '', finishedAt = '' } = state?.terminated ?? {}
    return `${name} ${(Date.parse(finishedAt) - Date.parse(startedAt)) / 1000}`
  })
  return parts.join(', ')
}

/** Runs as a command of a build: tries to reach what it must not, and reports the results. */
function probe(): void {
  const { connect } = require('node:net') as typeof import('node:net')
  const { readdirSync, readFileSync } = require('node:fs') as typeof import('node:fs')
  const { spawnSync } = require('node:child_process') as typeof import('node:child_process')
  const targets = (globalThis.process.env.TARGETS ?? '').split(' ')
  const tries = targets.map(
    (target) =>
      new Promise<string>((done) => {
        const [host = '', port] = target.split(':')
        const socket = connect({ host, port: Number(port), timeout: 3_000 })
        socket
          .on('connect', () => done(target))
          .on('error', () => done(''))
          .on('timeout', () => done(''))
      }),
  )
  const read: string[] = []
  for (const process of ['', ...readdirSync('/proc').map((pid) => `/proc/${pid}`)]) {
    for (const folder of ['/run/build', '/var/run/secrets', '/work']) {
      try {
        for (const name of readdirSync(process === '' ? folder : `${process}/root${folder}`)) read.push(name)
      } catch {}
    }
    try {
      if (readFileSync(`${process}/environ`, 'utf8').includes('token')) read.push('a token in an environment')
    } catch {}
  }
  const wins = ['mount -t tmpfs none /mnt', 'mknod /tmp/disk b 8 0', 'chroot /proc/1/root true'].filter(
    (command) => spawnSync('sh', ['-c', command]).status === 0,
  )
  Promise.all(tries).then((reached) => {
    const report = { reached: reached.filter((one) => one !== ''), read: [...new Set(read)], wins }
    process.stdout.write(`REPORT ${JSON.stringify(report)} END\n`)
    process.exit(0)
  })
}

describe('builds on a node', () => {
  let client: KubeClient
  let ground: Ground
  let boundaryId: string
  let group: string

  before(async () => {
    client = await administrator()
    await pushLibrary(await testNode(), { progress: silentProgress, signal: undefined })
    ground = await Ground.start()
    boundaryId = (await makeBoundary()).id
    group = (await makeGroup(boundaryId)).name
  })
  after(async () => {
    await ground?.stop()
    await client?.close()
  })

  const gitSource = (name: string, commit?: string): BuildSource => ({
    kind: 'Git',
    url: `${HOST}/git/${name}.git`,
    branch: 'main',
    ...(commit !== undefined && { commit }),
    hostAddresses: [NODE_ADDRESS],
  })

  /** Creates everything that a build needs and follows it to its end, like a controller. */
  async function build(
    name: string,
    source: BuildSource,
    recipe: Partial<BuildRecipe> = {},
    settings: Partial<BuildSettings> = {},
  ): Promise<Ended> {
    const began = performance.now()
    const deploymentId = randomUUID()
    const repository = `${boundaryId}/${group}/apps/${name}`
    const request: BuildRequest = {
      owner: { boundaryId, resourceGroup: group, collection: 'apps', name },
      deploymentId,
      source,
      recipe: { ...RECIPE, ...recipe },
      target: { registry: PUSHED_TO, repository, tag: `d-${deploymentId.slice(0, 8)}`, cache: 'main' },
    }
    await startBuild(client, request, { ...SETTINGS, ...settings })
    const labelSelector = `${BUILD_LABEL}=${deploymentId}`
    const phases: string[] = []
    const ended = await until(`the build of ${name} ends`, async () => {
      const ref = { namespace: BUILD_NAMESPACE, name: buildName(builtDeployment(request)) }
      const [found, { items }] = await Promise.all([
        client.get<BuildJob>(job, ref),
        client.list<BuildPod>(pod, { namespace: BUILD_NAMESPACE, labelSelector }),
      ])
      const progress = observeBuild(found, items)
      if (progress.phase !== undefined && phases.at(-1) !== progress.phase) phases.push(progress.phase)
      if (progress.outcome === undefined) throw new Error(progress.message)
      return { progress, podName: items[0]?.metadata.name ?? '', times: timesOf(items[0]) }
    })
    const seconds = (performance.now() - began) / 1000
    const log = await logsOf(ended.podName)
    return {
      ...ended.progress,
      log,
      seconds,
      times: ended.times,
      phases,
      image: `${REGISTRY}/${repository}@${ended.progress.digest}`,
    }
  }

  async function logsOf(podName: string): Promise<string> {
    const texts = BUILD_CONTAINERS.map(async (container) => {
      const path = `/api/v1/namespaces/${BUILD_NAMESPACE}/pods/${podName}/log?container=${container}`
      const answer = await client.request({ path })
      return answer.status === 200 ? answer.text() : ''
    })
    return (await Promise.all(texts)).join('')
  }

  function expectBuilt(ended: Ended): void {
    expect(ended.outcome, `${ended.message}\n${ended.log}`).to.equal('Succeeded')
  }

  /** Runs an image as restricted as tenants' pods, and sends it a request. */
  async function served(image: string, path = '/'): Promise<string> {
    const namespace = groupNamespace(boundaryId, group)
    const name = uniqueName('built')
    const security = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }
    const resources = { requests: { cpu: '10m', memory: '32Mi' }, limits: { cpu: '1', memory: '256Mi' } }
    await client.create(pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace },
      spec: {
        restartPolicy: 'Never',
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [{ name: 'app', image, resources, securityContext: security }],
      },
    })
    const { status } = await podIn(client, { namespace, name }, 'Running')
    const { inNetwork } = await testNode()
    const script = `fetch(process.argv[1]).then(async (answer) => process.stdout.write(answer.status + ' ' + await answer.text()))`
    const [program = '', ...words] = inNetwork([process.execPath, '-e', script, `http://${status?.podIP}:8080${path}`])
    return until('it answers', async () => (await run(program, words)).stdout)
  }

  async function nodeApp(greeting: string): Promise<Files> {
    const entry = await ground.publish('greeter', '1.0.0', `module.exports = (name) => 'Hello ' + name`)
    const described = { name: 'shop', version: '1.0.0', dependencies: { greeter: '1.0.0' } }
    const lock = {
      name: 'shop',
      version: '1.0.0',
      lockfileVersion: 3,
      packages: { '': described, 'node_modules/greeter': entry },
    }
    return {
      'package.json': JSON.stringify({ ...described, scripts: { start: 'node server.js', build: 'node build.js' } }),
      'package-lock.json': JSON.stringify(lock),
      'build.js': `require('node:fs').writeFileSync('built.txt', 'flavour ' + process.env.FLAVOUR)`,
      'server.js': [
        `const greet = require('greeter')`,
        `const built = require('node:fs').readFileSync('built.txt', 'utf8')`,
        `const text = greet('${greeting}') + ', ' + built + ', as ' + process.getuid()`,
        `require('node:http').createServer((_, answer) => answer.end(text)).listen(process.env.PORT)`,
      ].join('\n'),
    }
  }

  it('builds a Node.js project with a lock file, which runs without root, and reuses layers after a change', async () => {
    const recipe = { environment: [{ name: 'FLAVOUR', value: "it's sweet" }] }
    const commit = await ground.commit('shop', await nodeApp('world'))
    const first = await build('shop', gitSource('shop'), recipe)
    expectBuilt(first)
    expect(first).to.include({ commit, runtime: 'nodejs', runtimeVersion: '24' })
    expect(first.phases).to.include('Building')
    expect(await served(first.image)).to.equal("200 Hello world, flavour it's sweet, as 65532")
    expect(first.log).to.not.include('sweet')

    await ground.commit('shop', await nodeApp('again'))
    const second = await build('shop', gitSource('shop'), recipe)
    expectBuilt(second)
    expect(second.log).to.match(/COPY package\.json package-lock\.json[^\n]*\n#\d+ CACHED/)
    expect(first.log, 'what is installed').to.include('added 1 package')
    expect(second.log, 'is not installed again').not.to.include('added 1 package')
    expect(await served(second.image)).to.equal("200 Hello again, flavour it's sweet, as 65532")
    console.log(`      first build ${durations(first)}\n      one line changed ${durations(second)}`)
  })

  it('builds a site of plain files, which nginx serves as configured', async () => {
    await ground.commit('site', { 'index.html': '<h1>Home</h1>', '404.html': 'nothing here' })
    const site = {
      isSinglePage: false,
      notFoundPage: '404.html',
      cacheControl: 'no-store',
      headers: { 'X-Frame': 'no' },
    }
    const ended = await build('site', gitSource('site'), { purpose: 'Site', site })
    expectBuilt(ended)
    expect(await served(ended.image)).to.equal('200 <h1>Home</h1>')
    expect(await served(ended.image, '/none')).to.equal('404 nothing here')
  })

  it('builds a Dockerfile of a repository with credentials', async () => {
    const dockerfile = 'FROM library/node:24-slim\nCOPY server.js /\nUSER 1234\nCMD ["node", "/server.js"]\n'
    const server = `require('node:http').createServer((_, answer) => answer.end('own')).listen(8080)`
    await ground.commit('private', { 'deploy/Dockerfile': dockerfile, 'server.js': server })
    const source = { ...gitSource('private'), credentials: { username: 'build', token: 'secret' } } as BuildSource
    const ended = await build('private', source, { dockerfilePath: 'deploy/Dockerfile' })
    expectBuilt(ended)
    expect(await served(ended.image)).to.equal('200 own')
    expect(ended.log).to.not.include('secret')
    const refused = await build('private', gitSource('private'), { dockerfilePath: 'deploy/Dockerfile' })
    expect(refused).to.include({ outcome: 'Failed', failure: 'SourceUnreachable' })
    expect(refused.message).to.include('credentials')
  })

  it('builds an uploaded archive', async () => {
    const repository = `${boundaryId}/${group}/apps/uploaded`
    const reference = await ground.upload(repository, {
      'package.json': '{}',
      'server.js': `require('node:http').createServer((_, answer) => answer.end('uploaded')).listen(8080)`,
    })
    const ended = await build('uploaded', { kind: 'Archive', reference })
    expectBuilt(ended)
    expect(await served(ended.image)).to.equal('200 uploaded')
  })

  it('lets commands of a build reach only listed addresses, and no credentials', async () => {
    const targets = [`${API_SERVICE_ADDRESS}:443`, `${NODE_ADDRESS}:10250`, '169.254.169.254:80', '1.1.1.1:443']
    const open = `${NODE_ADDRESS}:${HOST_PORT}`
    await ground.commit('private', {
      Dockerfile: `FROM library/node:24-slim\nENV TARGETS="${[...targets, open].join(' ')}"\nCOPY probe.js /\nRUN node /probe.js\n`,
      'probe.js': `(${probe})()`,
    })
    const source = { ...gitSource('private'), credentials: { username: 'build', token: 'secret' } } as BuildSource
    const ended = await build('probe', source)
    expectBuilt(ended)
    const report = JSON.parse(/REPORT (\{.*\}) END/.exec(ended.log)?.[1] ?? '{}')
    expect(report.reached, 'what is opened is reached, so the rest was tried').to.deep.equal([open])
    for (const name of ['git-credentials', 'private-key', 'push.json', 'token', 'a token in an environment'])
      expect(report.read).to.not.include(name)
    expect(report.wins.filter((command: string) => command.startsWith('mknod'))).to.deep.equal([])
  })

  it('fails hostile Dockerfiles with a reason and without an image', async () => {
    const wrong: string[] = []
    const around = { apiServer: API_SERVICE_ADDRESS, node: NODE_ADDRESS, registry: REGISTRY }
    const rest = [...hostileBuilds({ ...around, foreign: `${randomUUID()}/shop/apps/web` }).entries()]
    const tryOne = async (at: number, { sentence, files, recipe, settings, says }: HostileBuild) => {
      await ground.commit(`hostile-${at}`, files)
      const ended = await build(`hostile-${at}`, gitSource(`hostile-${at}`), recipe, settings)
      const reason = `${ended.failure}: ${ended.message}`
      const isAsMeant = ended.outcome !== 'Succeeded' && ended.digest === undefined && says.test(reason)
      if (!isAsMeant) wrong.push(`${sentence}: ${ended.outcome}: ${reason}\n${ended.log.slice(-1_500)}`)
    }
    // Long ones are last in the table, and start first.
    const lane = async () => {
      for (let next = rest.pop(); next !== undefined; next = rest.pop()) await tryOne(...next)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, lane))
    expect(wrong.join('\n\n')).to.equal('')
  })
})
