import { expect } from 'chai'
import { builtDeployment, isOfBuild } from '../../contracts/builds/labels.ts'
import type { BuildRequest, BuildSettings } from '../../contracts/builds/request.ts'
import { type BuildJob, type BuildPod, buildObjects, observeBuild, ownedByJob, simulatedBuild } from './index.ts'

const SETTINGS: BuildSettings = {
  image: 'builder:1',
  isRegistryInsecure: false,
  networks: [{ cidr: '10.1.0.0/16', ports: [443] }],
  cpuLimit: '2',
  memoryLimit: '2Gi',
  diskLimit: '4Gi',
  diskRequest: '128Mi',
}
const BOUNDARY = '3d1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01'
const REQUEST: BuildRequest = {
  owner: { boundaryId: BOUNDARY, resourceGroup: 'shop', collection: 'apps', name: 'web' },
  deploymentId: '11111111-2222-4333-8444-555555555555',
  source: {
    kind: 'Git',
    url: 'https://git.example.test/shop/web.git',
    branch: 'main',
    credentials: { username: 'x-token', token: 'git:secret' },
    hostAddresses: ['203.0.113.7', '2001:db8::7'],
  },
  recipe: {
    purpose: 'Service',
    rootPath: '/',
    port: 8080,
    environment: [{ name: 'KEY', value: "it's a value" }],
    timeoutSeconds: 900,
  },
  target: {
    registry: 'registry.example.test',
    repository: `${BOUNDARY}/shop/apps/web`,
    tag: 'd-1',
    cache: 'feature/one',
    pull: { username: 'build', password: 'pull-secret' },
    push: { username: 'build', password: 'push-secret' },
  },
}

type Container = {
  resources: { requests: object; limits: object }
  name: string
  securityContext: Record<string, unknown>
  volumeMounts: { name: string }[]
}
type PodSpec = {
  initContainers: Container[]
  containers: Container[]
  volumes: { name: string; projected?: { sources: { secret: { items: { key: string }[] } }[] } }[]
}

const specOf = (request = REQUEST, settings = SETTINGS) => {
  const { template } = buildObjects(request, settings).job.spec as { template: { spec: PodSpec } }
  return template.spec
}
const entriesOf = (request = REQUEST): Record<string, string> => {
  const [made] = buildObjects(request, SETTINGS).dependents
  const { data } = made as unknown as { data: Record<string, string> }
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]))
}

describe('buildObjects', () => {
  const seenBy = (part: string) =>
    specOf()
      .volumes.find(({ name }) => name === `secrets-${part}`)
      ?.projected?.sources.flatMap(({ secret }) => secret.items.map(({ key }) => key))

  it('limits the disk of each container to the limit of a build', () => {
    const settings = { ...SETTINGS, diskLimit: '10Gi', diskRequest: '256Mi' }
    const { initContainers, containers } = specOf(REQUEST, settings)
    for (const { resources } of [...initContainers, ...containers]) {
      expect(resources.limits).to.include({ 'ephemeral-storage': '10Gi' })
      expect(resources.requests).to.include({ 'ephemeral-storage': '256Mi' })
    }
    // Init containers run one after the other, so their limits do not add up.
    expect(containers).to.have.length(1)
  })

  it('mounts only its own credentials in each container, and no push credentials where commands run', () => {
    expect(seenBy('source')).to.deep.equal(['order.json', 'git-credentials', 'private-key', 'known-hosts', 'pull.json'])
    expect(seenBy('build')).to.deep.equal(['order.json', 'environment', 'pull.json'])
    expect(seenBy('push')).to.deep.equal(['order.json', 'push.json'])
    for (const { name, volumeMounts } of [...specOf().initContainers, ...specOf().containers]) {
      const mounted = volumeMounts.map((mount) => mount.name).filter((mount) => mount.startsWith('secrets-'))
      expect(mounted).to.deep.equal([`secrets-${name}`])
    }
  })

  it('shares only the volume "work" between containers', () => {
    const mounted = [...specOf().initContainers, ...specOf().containers].flatMap(({ volumeMounts }) =>
      volumeMounts.map(({ name }) => name),
    )
    expect(mounted).to.have.members([...new Set(mounted), 'work', 'work'])
    expect(new Set(mounted)).to.deep.equal(new Set(specOf().volumes.map(({ name }) => name)))
  })

  it('adds capabilities only to the container that runs BuildKit', () => {
    const { initContainers, containers } = specOf()
    const [source, build] = initContainers
    for (const part of [source, containers[0]]) {
      expect(part?.securityContext).to.deep.equal({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        runAsNonRoot: true,
        capabilities: { drop: ['ALL'] },
      })
    }
    expect(build?.securityContext).to.deep.include({
      runAsNonRoot: true,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'], add: ['SETUID', 'SETGID'] },
    })
  })

  it('puts no credentials and no values into the Job and order.json', () => {
    const { job } = buildObjects(REQUEST, SETTINGS)
    const read = `${JSON.stringify(job)} ${entriesOf()['order.json']}`
    for (const word of ['git:secret', 'pull-secret', 'push-secret', "it's a value"]) expect(read).to.not.include(word)
  })

  it('encodes credentials for Git and registry clients', () => {
    const entries = entriesOf()
    expect(entries['git-credentials']).to.equal('https://x-token:git%3Asecret@git.example.test\n')
    expect(JSON.parse(entries['push.json'] ?? '').auths['registry.example.test'].password).to.equal('push-secret')
    expect(entries.environment).to.equal("export KEY='it'\\''s a value'\n")
  })

  it('uses a cache per branch in the repository of the resource', () => {
    const cacheOf = (cache: string) =>
      JSON.parse(entriesOf({ ...REQUEST, target: { ...REQUEST.target, cache } })['order.json'] ?? '').cache as string
    expect(cacheOf('feature/one')).to.match(
      new RegExp(`^registry.example.test/${BOUNDARY}/shop/apps/web:cache-[0-9a-f]{16}$`),
    )
    expect(cacheOf('feature/one')).to.not.equal(cacheOf('main'))
  })

  it('changes environmentVersion with the value of a variable', () => {
    const versionOf = (value: string) => {
      const recipe = { ...REQUEST.recipe, environment: [{ name: 'KEY', value }] }
      return JSON.parse(entriesOf({ ...REQUEST, recipe })['order.json'] ?? '').recipe.environmentVersion
    }
    expect(versionOf('a')).to.equal(versionOf('a')).and.not.equal(versionOf('b'))
  })

  it('separates builds of different boundaries with the same deployment id', () => {
    const another = { ...REQUEST, owner: { ...REQUEST.owner, boundaryId: '4e1f8a52-7a4e-4b52-9a55-0d6c8f3f9b01' } }
    const [own, other] = [REQUEST, another].map((request) => buildObjects(request, SETTINGS))
    expect(own?.job.metadata.name).to.not.equal(other?.job.metadata.name)
    const { name = '', namespace } = builtDeployment(another)
    const metadata = own?.job.metadata as { namespace: string; labels: Record<string, string> }
    expect(isOfBuild(metadata, builtDeployment(REQUEST))).to.equal(true)
    expect(isOfBuild(metadata, { namespace, name })).to.equal(false)
    expect(own?.job.metadata.name.length).to.be.below(64)
  })

  it('allows egress to DNS, the networks of the settings and the addresses of the Git host only', () => {
    const [, policy] = buildObjects(REQUEST, SETTINGS).dependents
    const { egress, podSelector, ingress } = (policy as unknown as { spec: Record<string, unknown> }).spec
    const { 'freehold.dev/build': id, ...place } = (podSelector as { matchLabels: Record<string, string> }).matchLabels
    expect([id, place]).to.deep.equal([
      REQUEST.deploymentId,
      { 'freehold.dev/boundary': BOUNDARY, 'freehold.dev/resource-group': 'shop' },
    ])
    expect(ingress).to.equal(undefined)
    expect((egress as object[]).slice(1)).to.deep.equal([
      { to: [{ ipBlock: { cidr: '10.1.0.0/16' } }], ports: [{ protocol: 'TCP', port: 443 }] },
      { to: [{ ipBlock: { cidr: '203.0.113.7/32' } }], ports: [{ protocol: 'TCP', port: 443 }] },
      { to: [{ ipBlock: { cidr: '2001:db8::7/128' } }], ports: [{ protocol: 'TCP', port: 443 }] },
    ])
  })

  it('deletes the Job an hour after its end and everything else with it', () => {
    const { job, dependents } = buildObjects(REQUEST, SETTINGS)
    expect(job.spec).to.include({ ttlSecondsAfterFinished: 3600, activeDeadlineSeconds: 900, backoffLimit: 2 })
    const owned = dependents.map((object) => ownedByJob(object, { name: job.metadata.name, uid: 'u' }))
    for (const { metadata } of owned) expect(metadata.ownerReferences?.[0]).to.include({ kind: 'Job', uid: 'u' })
  })
})

describe('observeBuild', () => {
  type State = NonNullable<NonNullable<NonNullable<BuildPod['status']>['containerStatuses']>[number]['state']>
  const ended = (word: object | string = {}, exitCode = 0, reason = 'Completed'): State => ({
    terminated: { exitCode, reason, message: typeof word === 'string' ? word : JSON.stringify(word) },
  })
  const RUNS: State = { running: {} }
  const found = { commit: 'a'.repeat(40), runtime: 'nodejs', runtimeVersion: '24' }
  const digest = `sha256:${'b'.repeat(64)}`

  function observed(
    states: readonly (State | undefined)[],
    job: BuildJob['status'] = {},
    pod: BuildPod['status'] = {},
  ) {
    const named = ['source', 'build', 'push'].flatMap((name, at) => {
      const state = states[at]
      return state === undefined ? [] : [{ name, state }]
    })
    const status = { ...pod, initContainerStatuses: named.slice(0, 2), containerStatuses: named.slice(2) }
    const head = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } }
    const { phase, outcome, failure, message } = observeBuild(
      { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'j' }, status: job },
      [{ ...head, status }],
    )
    return [phase ?? 'none', outcome ?? 'running', failure, message].filter((word) => word !== undefined).join('; ')
  }
  const failed = (reason = 'BackoffLimitExceeded') => ({ conditions: [{ type: 'Failed', status: 'True', reason }] })
  const complete = { conditions: [{ type: 'Complete', status: 'True' }] }

  const cases: [sentence: string, found: string, expected: string][] = [
    [
      'reports a pod without a container as waiting for a node',
      observed([]),
      'none; running; The build waits for a node.',
    ],
    [
      'reports an unschedulable pod',
      observed([], {}, { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] }),
      'none; running; No node has room for a build now.',
    ],
    [
      'reports an image of the builder that cannot be pulled',
      observed([{ waiting: { reason: 'ImagePullBackOff' } }]),
      'none; running; The image of the builder cannot be run (ImagePullBackOff): check the setting buildImage.',
    ],
    [
      'reports Cloning while the source container runs',
      observed([RUNS]),
      'Cloning; running; The source is being fetched.',
    ],
    [
      'reports Building while the build container runs',
      observed([ended(found), RUNS]),
      'Building; running; The image is being built.',
    ],
    [
      'reports Pushing while the push container runs',
      observed([ended(found), ended(), RUNS]),
      'Pushing; running; The image is being pushed.',
    ],
    [
      'reports Succeeded for a digest and a complete Job',
      observed([ended(found), ended(), ended({ digest })], complete),
      'Pushing; Succeeded; The image was built and pushed.',
    ],
    [
      'reports Succeeded for a digest before the Job is complete',
      observed([ended(found), ended(), ended({ digest })]),
      'Pushing; Succeeded; The image was built and pushed.',
    ],
    [
      'waits after an exit of the push container without a digest',
      observed([ended(found), ended(), ended()]),
      'Pushing; running; The image is being pushed.',
    ],
    [
      'reports BuilderFailed for a complete Job without a digest',
      observed([ended(found), ended(), ended()], complete),
      'Pushing; Failed; BuilderFailed; The builder failed; the source is not the cause.',
    ],
    [
      'ignores a digest of the build container',
      observed([ended(found), ended({ digest }), ended()], complete),
      'Pushing; Failed; BuilderFailed; The builder failed; the source is not the cause.',
    ],
    [
      'reports CommandFailed with the message of the build container',
      observed([ended(found), ended({ failure: 'CommandFailed', message: 'The command "x" ended.' }, 1)], failed()),
      'Building; Failed; CommandFailed; The command "x" ended.',
    ],
    [
      'ignores a message of several lines',
      observed([ended(found), ended({ failure: 'CommandFailed', message: 'one\ntwo' }, 1)], failed()),
      'Building; Failed; CommandFailed; A command of the build failed: see its log.',
    ],
    [
      'ignores an unknown failure',
      observed([ended({ failure: 'Nonsense' }, 1)], failed()),
      'Cloning; Failed; BuilderFailed; The builder failed; the source is not the cause.',
    ],
    [
      'reports OutOfMemory after an OOM kill',
      observed([ended(found), ended('', 137, 'OOMKilled')], failed()),
      'Building; Failed; OutOfMemory; The build used more memory than allowed and was stopped.',
    ],
    [
      'reports OutOfDisk after an eviction',
      observed([ended(found), ended('', 137, 'Error')], failed(), { reason: 'Evicted' }),
      'Building; Failed; OutOfDisk; The build wrote more than allowed and was stopped.',
    ],
    [
      'reports TimedOut after DeadlineExceeded',
      observed([ended(found)], failed('DeadlineExceeded')),
      'Cloning; TimedOut; TimedOut; The build took longer than allowed and was stopped.',
    ],
  ]
  for (const [sentence, words, expected] of cases) it(sentence, () => expect(words).to.equal(expected))

  it('reads the newest pod and the commit as soon as the source is fetched', () => {
    const pod = (startTime: string, state: State): BuildPod => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: startTime },
      status: { startTime, initContainerStatuses: [{ name: 'source', state }] },
    })
    const progress = observeBuild(undefined, [
      pod('2026-01-02T00:00:00Z', ended(found)),
      pod('2026-01-01T00:00:00Z', RUNS),
    ])
    expect(progress).to.include({ ...found, phase: 'Cloning', outcome: undefined })
  })

  it('is extended by simulatedBuild with a warning that nothing was built', () => {
    const job: BuildJob = { status: { conditions: [{ type: 'Complete', status: 'True' }] } } as BuildJob
    const { outcome, message } = simulatedBuild(job, observeBuild(job, []), 'd-1')
    expect(outcome).to.equal('Succeeded')
    expect(message).to.match(/nothing was built, and there is no image\. .* a real build may refuse it\.$/)
  })
})
