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

type Workload = KubeObject & {
  spec: { template: { metadata: { annotations?: object }; spec: { volumes: { configMap?: { name: string } }[] } } }
}

const objectsOf = (text: string) => (loadAll(text) as (KubeObject | null)[]).filter((each) => each !== null)
const keyOf = ({ kind, metadata }: KubeObject) => `${kind}/${metadata.namespace ?? ''}/${metadata.name}`

/** What differs by design: how a change of the settings rolls the deployments out, and comments in them. */
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

describe('the ways to install', () => {
  let folder: string
  const kustomize = async (place: string) =>
    (await run(testPlatform().kubectlPath, ['kustomize', place], BUFFER)).stdout

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-ways-'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  it('bring the same objects with kustomize and as one file', async () => {
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

  describe('with the Helm chart', () => {
    let helm: string
    const template = async (...words: string[]) =>
      objectsOf((await run(helm, ['template', 'freehold', CHART, '-n', 'freehold-system', ...words], BUFFER)).stdout)

    before(async function () {
      helm = await helmOrSkip(this)
    })

    it('bring the same objects too', async () => {
      const built = compared(objectsOf(await kustomize(DEPLOY)))
      const rendered = compared(await template(...EVERYTHING, '--kube-version', '1.36.0'))
      expect([...rendered.keys()].sort()).to.deep.equal([...built.keys()].sort())
      for (const [key, object] of built) expect(rendered.get(key), key).to.deep.equal(object)
    })

    it('roll out when a setting changes, and refuse one that does not exist', async () => {
      const sums = async (...words: string[]) =>
        (await template('--kube-version', '1.36.0', ...words))
          .filter(({ kind }) => kind === 'Deployment')
          .map((each) => JSON.stringify((each as Workload).spec.template.metadata.annotations))
      const [before, after] = [await sums(), await sums('--set', 'configuration.region=north')]
      expect(after[0]).not.to.equal(before[0])
      const refusal = await sums('--set', 'configuration.regoin=north').catch(({ stderr }) => String(stderr))
      expect(refusal).to.contain('regoin')
    })

    it('take monitoring along when asked to', async () => {
      const monitoring = compared(objectsOf(await kustomize(join(DEPLOY, 'monitoring'))))
      const rendered = compared(await template('--kube-version', '1.36.0', '--set', 'monitoring.enabled=true'))
      for (const [key, object] of monitoring) expect(rendered.get(key), key).to.deep.equal(object)
    })

    it('pass its own checks', async () => {
      const { stdout } = await run(helm, ['lint', '--strict', '--kube-version', '1.36.0', CHART])
      expect(stdout).to.contain('0 chart(s) failed')
    })
  })

  it('serve the metrics that the page lists, and no others of ours', async () => {
    const served = await until('the metrics are served', async () => {
      const answer = await fetch(`${testPlatform().managementUrl}/metrics`)
      return answer.ok && answer.text()
    })
    const names = [...served.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name)
    const ours = names.filter((name) => !/^(process|nodejs)_/.test(name))
    expect(ours.sort()).to.deep.equal(metricNames().sort())
  })
})
