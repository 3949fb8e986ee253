import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { dump, load, loadAll } from 'js-yaml'
import { metricNames } from '../../scripts/generate/metrics.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { helmOrSkip } from '../cluster/helm.ts'
import { until } from '../make/until.ts'
import { testPlatform } from '../worlds/tenant.ts'

const run = promisify(execFile)
const DEPLOY = join(import.meta.dirname, '../../deploy')
const CHART = join(DEPLOY, 'helm/freehold')
const BUFFER = { maxBuffer: 16 * 1024 * 1024 }
const NAME = 'freehold-configuration'
/** The chart leaves the namespace to Helm, and marks the definitions as to be kept. */
const EVERYTHING = ['--set', 'createNamespace=true', '--set', 'keepDefinitions=false']

const ENFORCED = 'pod-security.kubernetes.io/enforce'

type Workload = KubeObject & {
  spec: { template: { metadata: { annotations?: object }; spec: { volumes: { configMap?: { name: string } }[] } } }
}

const objectsOf = (text: string) => (loadAll(text) as (KubeObject | null)[]).filter((each) => each !== null)
const keyOf = ({ kind, metadata }: KubeObject) => `${kind}/${metadata.namespace ?? ''}/${metadata.name}`

/** Intended differences: how a change of the settings rolls the deployments out, and comments in them. */
function compared(objects: readonly KubeObject[]): Map<string, unknown> {
  const plain = objects.map((object) => {
    const text = JSON.stringify(object).replaceAll(new RegExp(`${NAME}-[a-z0-9]{10}`, 'g'), NAME)
    const copy = JSON.parse(text) as Workload & { data?: Record<string, string> }
    if (copy.kind === 'Deployment') delete copy.spec.template.metadata.annotations
    const settings = copy.data?.['configuration.yaml']
    if (settings === undefined) return copy
    return { ...copy, data: load(settings) } as unknown as KubeObject
  })
  return new Map(plain.map((object) => [keyOf(object), object]))
}

describe('manifests of the ways to install', () => {
  let folder: string
  const kustomize = async (place: string) =>
    (await run(testPlatform().kubectlPath, ['kustomize', place], BUFFER)).stdout

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-ways-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('contain the same objects with kustomize and in install.yaml', async () => {
    const built = compared(objectsOf(await kustomize(DEPLOY)))
    const inFile = compared(objectsOf(await readFile(join(DEPLOY, 'install.yaml'), 'utf8')))
    expect([...inFile.keys()].sort()).to.deep.equal([...built.keys()].sort())
    for (const [key, object] of built) expect(inFile.get(key), key).to.deep.equal(object)
  })

  it('roll the deployments out when a setting changes, with kustomize', async () => {
    const base = relative(folder, DEPLOY)
    const patch = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: NAME, namespace: 'freehold-system' },
      data: { 'configuration.yaml': 'issuer: https://id.example.com/realms/mine\n' },
    }
    await writeFile(join(folder, 'kustomization.yaml'), dump({ resources: [base], patches: [{ patch: dump(patch) }] }))
    const [before, after] = [objectsOf(await kustomize(DEPLOY)), objectsOf(await kustomize(folder))]
    const mounted = (objects: readonly KubeObject[]) =>
      objects
        .filter(({ kind }) => kind === 'Deployment')
        .flatMap((each) => (each as Workload).spec.template.spec.volumes)
        .flatMap(({ configMap }) => configMap?.name ?? [])
    expect(new Set(mounted(after))).to.have.length(1)
    expect(mounted(after)).not.to.deep.equal(mounted(before))
    const stored = after.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === mounted(after)[0])
    expect(JSON.stringify(stored)).to.contain('realms/mine')
  })

  describe('the Helm chart', () => {
    let helm: string
    const template = async (...words: string[]) =>
      objectsOf((await run(helm, ['template', 'freehold', CHART, '-n', 'freehold-system', ...words], BUFFER)).stdout)

    before(async function () {
      helm = await helmOrSkip(this)
    })

    it('renders the same objects as kustomize', async () => {
      const built = compared(objectsOf(await kustomize(DEPLOY)))
      const rendered = compared(await template(...EVERYTHING, '--kube-version', '1.36.0'))
      expect([...rendered.keys()].sort()).to.deep.equal([...built.keys()].sort())
      for (const [key, object] of built) expect(rendered.get(key), key).to.deep.equal(object)
    })

    it('rolls the deployments out when a setting changes, and rejects an unknown one', async () => {
      const sums = async (...words: string[]) =>
        (await template('--kube-version', '1.36.0', ...words))
          .filter(({ kind }) => kind === 'Deployment')
          .map((each) => JSON.stringify((each as Workload).spec.template.metadata.annotations))
      const [before, after] = [await sums(), await sums('--set', 'configuration.region=north')]
      expect(after[0]).not.to.equal(before[0])
      const refusal = await sums('--set', 'configuration.regoin=north').catch(({ stderr }) => String(stderr))
      expect(refusal).to.contain('regoin')
    })

    it('applies pod settings to all parts, and those of a part in place of them', async () => {
      const said = {
        imagePullSecrets: [{ name: 'pull' }],
        nodeSelector: { pool: 'platform' },
        tolerations: [{ key: 'all', operator: 'Exists' }],
        affinity: { nodeAffinity: {} },
        priorityClassName: 'system-cluster-critical',
        podLabels: { team: 'platform' },
        podAnnotations: { 'example.com/scrape': 'true' },
        volumes: [{ name: 'authority', configMap: { name: 'authority' } }],
        volumeMounts: [{ name: 'authority', mountPath: '/etc/authority', readOnly: true }],
      }
      const facade = {
        tolerations: [],
        nodeSelector: { pool: 'front' },
        podLabels: { team: 'front', tier: 'web' },
        topologySpreadConstraints: [],
        resources: { limits: { memory: '2Gi' } },
        volumes: [{ name: 'keycloak', secret: { secretName: 'freehold-keycloak' } }],
        volumeMounts: [{ name: 'keycloak', mountPath: '/etc/keycloak', readOnly: true }],
      }
      const path = join(folder, 'values.json')
      await writeFile(path, JSON.stringify({ ...said, facade }))
      const rendered = await template('--kube-version', '1.36.0', '-f', path)
      const podOf = (name: string) => {
        const found = rendered.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name)
        return (found as Workload).spec.template as unknown as {
          metadata: { labels: object; annotations: object }
          spec: {
            containers: { resources: object; volumeMounts: { name: string }[] }[]
            topologySpreadConstraints: object[]
            volumes: { name: string }[]
          }
        }
      }
      const { podLabels, podAnnotations, volumes, volumeMounts, ...placement } = said
      const own = (name: string) =>
        name === 'freehold-activator' ? ['configuration'] : ['configuration', 'vault-keys']
      for (const name of ['freehold-controllers', 'freehold-activator']) {
        const { metadata, spec } = podOf(name)
        expect(metadata.labels, name).to.include({ ...podLabels, 'app.kubernetes.io/name': name })
        expect(metadata.annotations, name).to.include(podAnnotations).and.to.have.property('freehold.dev/configuration')
        expect(spec, name).to.deep.include(placement)
        expect(spec.topologySpreadConstraints, name).to.have.length(2)
        expect(spec.volumes, name).to.deep.include(volumes[0])
        expect(spec.containers[0]?.volumeMounts, name).to.deep.include(volumeMounts[0])
        expect(spec.volumes.map((each) => each.name)).to.have.members([...own(name), 'authority'])
      }
      const { metadata, spec } = podOf('freehold-facade')
      expect(metadata.labels).to.include(facade.podLabels)
      expect(spec).to.deep.include({ nodeSelector: facade.nodeSelector, topologySpreadConstraints: [] })
      expect(spec).not.to.have.property('tolerations')
      const files = [...own('freehold-facade'), 'authority', 'keycloak']
      expect(spec.volumes.map(({ name }) => name)).to.have.members(files)
      expect(spec.containers[0]?.volumeMounts.map(({ name }) => name)).to.have.members(files)
      expect(spec.containers[0]?.resources).to.deep.equal({
        requests: { cpu: '200m', memory: '256Mi', 'ephemeral-storage': '128Mi' },
        limits: { memory: '2Gi' },
      })
    })

    it('adds metadata to the namespace of builds, beside that of the platform', async () => {
      const said = { labels: { 'istio-injection': 'disabled' }, annotations: { 'example.com/owner': 'platform' } }
      const words = ['--set-json', `buildNamespace=${JSON.stringify(said)}`]
      const rendered = await template('--kube-version', '1.36.0', ...words)
      const builds = rendered.find(({ kind, metadata }) => kind === 'Namespace' && metadata.name === 'freehold-builds')
      const own = { [ENFORCED]: 'privileged', 'app.kubernetes.io/part-of': 'freehold' }
      expect(builds?.metadata.labels).to.include({ ...said.labels, ...own })
      expect(builds?.metadata.annotations).to.deep.equal(said.annotations)
    })

    it('rejects pod labels that the platform selects by', async () => {
      const refused = await template('--set-string', 'facade.podLabels.app\\.kubernetes\\.io/name=mine').catch(
        ({ stderr }) => String(stderr),
      )
      expect(refused).to.contain('/facade/podLabels')
    })

    for (const [what, value, place] of [
      ['a limit below a misspelt key', 'controllers.resources={"limit":{"memory":"1Gi"}}', '/controllers/resources'],
      ['a misspelt field of a toleration', 'tolerations=[{"kye":"platform"}]', '/tolerations/0'],
      ['a misspelt kind of affinity', 'facade.affinity={"nodeAfinity":{}}', '/facade/affinity'],
      ['a volume without a name', 'volumes=[{"nme":"x"}]', '/volumes/0'],
      ['a mount without a path', 'volumeMounts=[{"name":"x","path":"/x"}]', '/volumeMounts/0'],
      ['a misspelt constraint', 'facade.topologySpreadConstraints=[{"maxskew":1}]', '/topologySpreadConstraints/0'],
      ['a variable that is not a setting', 'env=[{"name":"PLATFORM_SMTP_ULR","value":"x"}]', '/env/0/name'],
      ['a misspelt field of a variable', 'env=[{"name":"TZ","valeu":"x"}]', '/env/0'],
      ['another Pod Security level of builds', `buildNamespace={"labels":{"${ENFORCED}":"baseline"}}`, '/labels/'],
      ['no settings', 'configuration=null', "missing property 'configuration'"],
      ['no facade', 'facade=null', "missing property 'facade'"],
      ['no number of pods', 'facade.replicas=null', "missing property 'replicas'"],
      ['no repository of the image', 'image.repository=null', "missing property 'repository'"],
      ['no issuer', 'configuration.issuer=null', "missing property 'issuer'"],
      ['a domain in upper case', 'configuration.clusterDomain="Apps.example.com"', '/configuration/clusterDomain'],
    ] as const)
      it(`rejects ${what}`, async () => {
        const refused = await template('--kube-version', '1.36.0', '--set-json', value).catch(({ stderr }) =>
          String(stderr),
        )
        expect(refused).to.contain(place)
      })

    it('takes a value without content for the default of Kubernetes', async () => {
      const keys = ['podLabels', 'podAnnotations', 'volumes', 'volumeMounts', 'tolerations', 'affinity', 'env']
      const words = keys.flatMap((key) => ['--set-json', `${key}=null`])
      const rendered = compared(await template('--kube-version', '1.36.0', ...words))
      expect(rendered).to.deep.equal(compared(await template('--kube-version', '1.36.0')))
    })

    it('labels all objects with the release, and selects nothing by it', async () => {
      const words = ['template', 'mine', CHART, '-n', 'freehold-system', '--kube-version', '1.36.0']
      const rendered = objectsOf((await run(helm, words, BUFFER)).stdout)
      const installed = rendered.filter(({ kind }) => kind !== 'CustomResourceDefinition')
      for (const object of installed) {
        expect(object.metadata.labels, keyOf(object)).to.include({ 'app.kubernetes.io/instance': 'mine' })
        expect(JSON.stringify((object as { spec?: { selector?: object } }).spec?.selector) ?? '').not.to.contain('mine')
      }
    })

    it('rejects a release in another namespace', async () => {
      const elsewhere = (...words: string[]) =>
        run(helm, ['template', 'freehold', CHART, '-n', 'apps', '--kube-version', '1.36.0', ...words], BUFFER).then(
          () => 'rendered',
          ({ stderr }) => String(stderr),
        )
      expect(await elsewhere()).to.contain('Freehold runs in the namespace freehold-system only, not in apps')
      expect(await elsewhere('--set', 'createNamespace=true')).to.equal('rendered')
    })

    it('renders the monitoring objects if enabled', async () => {
      const monitoring = compared(objectsOf(await kustomize(join(DEPLOY, 'monitoring'))))
      const rendered = compared(await template('--kube-version', '1.36.0', '--set', 'monitoring.enabled=true'))
      for (const [key, object] of monitoring) expect(rendered.get(key), key).to.deep.equal(object)
    })

    it('passes helm lint --strict', async () => {
      const { stdout } = await run(helm, ['lint', '--strict', '--kube-version', '1.36.0', CHART])
      expect(stdout).to.contain('0 chart(s) failed')
    })
  })

  it('GET /metrics serves exactly the documented metrics', async () => {
    const served = await until('the metrics are served', async () => {
      const answer = await fetch(`${testPlatform().managementUrl}/metrics`)
      return answer.ok && answer.text()
    })
    const names = [...served.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name)
    const ours = names.filter((name) => !/^(process|nodejs)_/.test(name))
    expect(ours.sort()).to.deep.equal(metricNames().sort())
  })
})
