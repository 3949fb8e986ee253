// @alone: starts a control plane of its own.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { KINDS } from '../../src/crds/index.ts'
import { customResourceDefinition, deployment, pod } from '../../src/kube/builtin.ts'
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/kubeconfig.ts'
import { startOwnControlPlane, type TestControlPlane } from '../cluster/index.ts'
import { until } from '../make/until.ts'

const run = promisify(execFile)
const deploy = join(import.meta.dirname, '../../deploy')

describe('installing into a cluster with kubectl apply -k', () => {
  let controlPlane: TestControlPlane
  let client: KubeClient
  const kubectl = (...args: string[]) =>
    run(controlPlane.kubectlPath ?? 'kubectl', ['--kubeconfig', controlPlane.kubeconfigPath, ...args])

  before(async () => {
    controlPlane = await startOwnControlPlane()
    client = createKubeClient(loadKubeconfig(controlPlane.kubeconfigPath), { fieldManager: 'test', userAgent: 'test' })
  })

  after(async () => {
    await client.close()
    await controlPlane.stop()
  })

  it('works at the first try and without a warning', async () => {
    const { stdout, stderr } = await kubectl('apply', '--server-side', '-k', deploy)
    expect(stderr).to.equal('')
    expect(stdout).to.match(/deployment.apps\/freehold-facade/)
  })

  it('changes nothing at the second try', async () => {
    const before = (await client.list(deployment, { namespace: SYSTEM_NAMESPACE })).items
    await kubectl('apply', '--server-side', '-k', deploy)
    const after = (await client.list(deployment, { namespace: SYSTEM_NAMESPACE })).items
    expect(after.map((item) => item.metadata.generation)).to.deep.equal(before.map((item) => item.metadata.generation))
  })

  it('serves every kind', async () => {
    for (const { resource } of KINDS) {
      const definition = await client.get(customResourceDefinition, { name: `${resource.plural}.${resource.group}` })
      const { conditions } = definition.status as { conditions: { type: string; status: string }[] }
      expect(
        conditions.filter(
          ({ type, status }) => type !== 'Established' && type !== 'NamesAccepted' && status === 'True',
        ),
        resource.plural,
      ).to.deep.equal([])
    }
  })

  it('has its pods admitted under the restricted level', async () => {
    const pods = await until('two pods of each deployment exist', async () => {
      const { items } = await client.list(pod, { namespace: SYSTEM_NAMESPACE })
      return items.length === 4 && items
    })
    for (const item of pods) {
      const { securityContext, containers } = item.spec as {
        securityContext: { runAsNonRoot: boolean }
        containers: { securityContext: { readOnlyRootFilesystem: boolean } }[]
      }
      expect(securityContext.runAsNonRoot).to.equal(true)
      expect(containers.every((container) => container.securityContext.readOnlyRootFilesystem)).to.equal(true)
    }
  })

  it('grants no more than was declared: no wildcards, no impersonation, no Secrets across namespaces', async () => {
    const { stdout } = await kubectl('get', 'clusterroles', '-l', 'app.kubernetes.io/part-of=freehold', '-o', 'json')
    const roles = JSON.parse(stdout) as {
      items: {
        metadata: { name: string }
        rules: { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }[]
      }[]
    }
    const bound = roles.items.filter(({ metadata }) =>
      ['freehold-controllers', 'freehold-facade'].includes(metadata.name),
    )
    expect(bound).to.have.length(2)
    for (const rule of bound.flatMap((role) => role.rules)) {
      expect([...rule.verbs, ...rule.resources, ...rule.apiGroups]).not.to.include('*')
      expect(rule.verbs).to.not.include.members(['impersonate'])
      expect(rule.verbs).to.not.include.members(['escalate'])
      if (rule.verbs.includes('bind')) expect(rule.resourceNames).to.have.length.greaterThan(0)
      expect(
        rule.resources.some((name) => name === 'secrets'),
        JSON.stringify(rule),
      ).to.equal(false)
    }
  })
})
