// @alone @long: starts a control plane of its own.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { openOwnAuthority, publishWebhookAuthority } from '../../src/composition/ownAuthority.ts'
import { KEY_DIGEST_SECRET } from '../../src/contracts/functions.ts'
import { VELERO_SECRET } from '../../src/contracts/platformbackups/names.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { WEBHOOK_CONFIGURATION } from '../../src/core/webhook.ts'
import { Boundary } from '../../src/crds/boundaries.ts'
import { KINDS } from '../../src/crds/index.ts'
import { RoleAssignment } from '../../src/crds/rbac.ts'
import {
  customResourceDefinition,
  deployment,
  namespace,
  pod,
  validatingWebhookConfiguration,
} from '../../src/kube/builtin.ts'
import { createKubeClient, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kubeconfig/kubeconfig.ts'
import { helmOrSkip } from '../cluster/helm.ts'
import { startOwnControlPlane, type TestControlPlane } from '../cluster/index.ts'
import { until } from '../make/until.ts'

const run = promisify(execFile)
const deploy = join(import.meta.dirname, '../../deploy')

describe('installation with kubectl apply -k', () => {
  let controlPlane: TestControlPlane
  let client: KubeClient
  const kubectl = (...args: string[]) =>
    run(controlPlane.kubectlPath ?? 'kubectl', ['--kubeconfig', controlPlane.kubeconfigPath, ...args])

  let folder: string

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-install-'))
    controlPlane = await startOwnControlPlane()
    client = createKubeClient(loadKubeconfig(controlPlane.kubeconfigPath), { fieldManager: 'test', userAgent: 'test' })
  })

  after(async () => {
    await client.close()
    await controlPlane.stop()
    await rm(folder, { recursive: true, force: true })
  })

  it('of the agent applies without a warning, changes nothing when applied again, and leaves nothing', async () => {
    const kinds = ['clusterroles', 'clusterrolebindings', 'validatingadmissionpolicies', 'namespaces']
    const everything = async () =>
      (await kubectl('get', `${kinds.join()},validatingadmissionpolicybindings`, '--output=name')).stdout.split('\n')
    const before = await everything()
    const agent = join(deploy, 'agent')
    expect((await kubectl('apply', '--server-side', '-k', agent)).stderr).to.equal('')
    expect((await kubectl('diff', '--server-side', '-k', agent)).stdout).to.equal('')
    expect(await everything()).to.include('namespace/freehold-system')
    await kubectl('delete', '-k', agent, '--ignore-not-found')
    expect(await everything()).to.have.members(before)
  })

  it('applies at the first attempt without a warning', async () => {
    const { stdout, stderr } = await kubectl('apply', '--server-side', '-k', deploy)
    expect(stderr).to.equal('')
    expect(stdout).to.match(/deployment.apps\/freehold-facade/)
  })

  it('changes nothing when it is applied again', async () => {
    // Fails, with what differs, if anything does.
    expect((await kubectl('diff', '--server-side', '-k', deploy)).stdout).to.equal('')
    const before = (await client.list(deployment, { namespace: SYSTEM_NAMESPACE })).items
    await kubectl('apply', '--server-side', '-k', deploy)
    const after = (await client.list(deployment, { namespace: SYSTEM_NAMESPACE })).items
    expect(after.map((item) => item.metadata.generation)).to.deep.equal(before.map((item) => item.metadata.generation))
  })

  it('uses no version of an API that Kubernetes removes', async () => {
    const text = await (await client.request({ path: '/metrics' })).text()
    expect(text).to.contain('apiserver_request_total')
    const removed = text.match(/^apiserver_requested_deprecated_apis\{.*removed_release="[^"].*$/gm) ?? []
    expect(removed).to.deep.equal([])
  })

  it('establishes the CRD of every kind', async () => {
    for (const { resource } of KINDS) {
      const name = `${resource.plural}.${resource.group}`
      const types = await until(`${name} is established`, async () => {
        const definition = await client.get(customResourceDefinition, { name })
        const { conditions } = definition.status as { conditions: { type: string; status: string }[] }
        const holding = conditions.filter(({ status }) => status === 'True').map(({ type }) => type)
        return holding.includes('Established') && holding
      })
      // Any other condition reports a defect of the definition.
      expect(types, name).to.have.members(['NamesAccepted', 'Established'])
    }
  })

  it('creates all pods under Pod Security level restricted', async () => {
    const deployments = (await client.list(deployment, { namespace: SYSTEM_NAMESPACE })).items
    const wanted = deployments.reduce((sum, { spec }) => sum + (spec as { replicas: number }).replicas, 0)
    expect(wanted).to.be.greaterThan(deployments.length)
    const pods = await until('all pods of each deployment exist', async () => {
      const { items } = await client.list(pod, { namespace: SYSTEM_NAMESPACE })
      return items.length === wanted && items
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

  describe('while no facade answers', () => {
    const id = '11111111-1111-4111-8111-111111111111'
    const assignment = (name: string) => ({
      apiVersion: RoleAssignment.apiVersion,
      kind: RoleAssignment.kind,
      metadata: { name, namespace: SYSTEM_NAMESPACE },
      spec: { principalId: id, principalType: 'User', roleDefinitionName: 'Owner', scope: '/' },
    })
    const createAs = async (...as: string[]) => {
      const path = join(await mkdtemp(join(folder, 'as-')), 'assignment.json')
      await writeFile(path, JSON.stringify(assignment(`by-${randomUUID()}`)))
      return kubectl('create', '-f', path, ...as)
    }
    const refusalOf = (answer: Promise<unknown>) =>
      answer.then(
        () => 'admitted',
        (error: { stderr?: string }) => error.stderr ?? '',
      )

    before(async () => {
      const verbs = '--verb=create,delete,grant'
      const resources = '--resource=roleassignments.iam.freehold.dev,roledefinitions.iam.freehold.dev'
      await kubectl('create', 'clusterrole', 'writers', verbs, resources)
      await kubectl('create', 'clusterrolebinding', 'writers', '--clusterrole=writers', `--user=p:${id}`)
    })

    it('rejects writes of role assignments by tenants', async () => {
      const refusal = await until('the role counts', async () => {
        const words = await refusalOf(createAs(`--as=p:${id}`))
        return words.includes('webhook') && words
      })
      expect(refusal).to.match(/failed calling webhook "iam\.freehold\.dev"/)
    })

    it('admits writes of role assignments by administrators and by the facade', async () => {
      const account = `system:serviceaccount:${SYSTEM_NAMESPACE}:freehold-facade`
      expect(await refusalOf(createAs())).to.equal('admitted')
      expect(await refusalOf(createAs(`--as=${account}`))).to.equal('admitted')
      const names = (await client.list(RoleAssignment.resource, { namespace: SYSTEM_NAMESPACE })).items
      expect(names.length).to.be.at.least(2)
      for (const { metadata } of names) {
        await client.remove(RoleAssignment.resource, { namespace: SYSTEM_NAMESPACE, name: metadata.name })
      }
    })
  })

  it('publishes the certificate authority in the webhook, which a second apply keeps', async () => {
    type Configuration = KubeObject & {
      webhooks: { clientConfig: { caBundle?: string; service: { path?: string } } }[]
    }
    const read = () => client.get<Configuration>(validatingWebhookConfiguration, { name: WEBHOOK_CONFIGURATION })
    const [own, second] = [await openOwnAuthority(client, new Date()), await openOwnAuthority(client, new Date())]
    expect(second, 'replicas share one authority').to.deep.equal(own)
    expect(await publishWebhookAuthority(client, own, async () => {})).to.equal(true)
    await kubectl('apply', '--server-side', '-k', deploy)
    const { clientConfig } = (await read()).webhooks[0] ?? { clientConfig: { service: {} } }
    expect(Buffer.from(clientConfig.caBundle ?? '', 'base64').toString()).to.equal(own.certPem)
    expect(clientConfig.service).to.deep.include({ path: own.path, name: 'freehold-webhook' })
    const account = `--as=system:serviceaccount:${SYSTEM_NAMESPACE}:freehold-facade`
    const may = async (what: string) =>
      (await kubectl('auth', 'can-i', 'patch', what, account).catch(() => undefined)) !== undefined
    expect(await may(`validatingwebhookconfigurations/${WEBHOOK_CONFIGURATION}`)).to.equal(true)
    expect(await may('validatingwebhookconfigurations/another')).to.equal(false)
  })

  it('grants no wildcards, no impersonation, and no Secrets across namespaces but the one of Velero', async () => {
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
      // By name, because an administrator chooses Velero's namespace.
      if (rule.resources.includes('secrets'))
        expect(rule.resourceNames, JSON.stringify(rule)).to.deep.equal([VELERO_SECRET])
    }
  })

  it('lets the controllers create pods only in namespaces of tenants and of builds', async () => {
    const account = `system:serviceaccount:${SYSTEM_NAMESPACE}:freehold-controllers`
    const createIn = async (space: string) => {
      const path = join(await mkdtemp(join(folder, 'job-')), 'job.json')
      const containers = [{ name: 'main', image: 'example.com/none' }]
      const spec = { template: { spec: { restartPolicy: 'Never', containers } } }
      const metadata = { name: 'theirs', namespace: space }
      await writeFile(path, JSON.stringify({ apiVersion: 'batch/v1', kind: 'Job', metadata, spec }))
      return kubectl('create', '-f', path, '--dry-run=server', `--as=${account}`).then(
        () => 'admitted',
        (error: { stderr?: string }) => error.stderr ?? '',
      )
    }
    for (const space of ['default', 'kube-system', SYSTEM_NAMESPACE]) {
      const refusal = await until('the policy is effective', async () => {
        const words = await createIn(space)
        return words !== 'admitted' && words
      })
      expect(refusal, space).to.contain('the platform runs pods only in namespaces that carry the label')
    }
    expect(await createIn('freehold-builds')).to.equal('admitted')
  })

  it('lets the controllers create ConfigMaps and Services only there, and Ingresses also in freehold-system', async () => {
    const account = `--as=system:serviceaccount:${SYSTEM_NAMESPACE}:freehold-controllers`
    const made = (kind: string[], space: string, ...who: string[]) =>
      kubectl('create', ...kind, '-n', space, '--dry-run=server', ...who).then(
        () => 'admitted',
        (error: { stderr?: string }) => error.stderr ?? '',
      )
    const settings = ['configmap', 'theirs']
    const service = ['service', 'clusterip', 'theirs', '--tcp=80']
    const route = ['ingress', 'theirs', '--rule=a.example.com/=activator:80']
    for (const [kind, space] of [
      [settings, 'kube-system'],
      [settings, SYSTEM_NAMESPACE],
      [service, 'default'],
      [service, SYSTEM_NAMESPACE],
      [route, 'default'],
    ] as const) {
      expect(await made(kind, space, account), `${kind[0]} in ${space}`).to.contain(
        'only in namespaces that carry the label',
      )
      expect(await made(kind, space)).to.equal('admitted')
    }
    expect(await made(route, SYSTEM_NAMESPACE, account)).to.equal('admitted')
  })

  it('lets the controllers create only their own Secrets in freehold-system', async () => {
    const account = `--as=system:serviceaccount:${SYSTEM_NAMESPACE}:freehold-controllers`
    const words = (name: string) => ['create', 'secret', 'generic', name, '-n', SYSTEM_NAMESPACE, '--dry-run=server']
    const make = (name: string) =>
      kubectl(...words(name), account).then(
        () => 'admitted',
        (error: { stderr?: string }) => error.stderr ?? '',
      )
    expect(await make('theirs')).to.contain('the controllers write only Secrets of managed identities')
    expect(await make(KEY_DIGEST_SECRET)).to.equal('admitted')
  })

  it('lets a node be drained of pods that are not ready', async () => {
    const { stdout } = await kubectl('get', 'poddisruptionbudgets', '-n', SYSTEM_NAMESPACE, '-o', 'json')
    const budgets = JSON.parse(stdout) as { items: { spec: { unhealthyPodEvictionPolicy?: string } }[] }
    expect(budgets.items).to.have.length(3)
    for (const { spec } of budgets.items) expect(spec.unhealthyPodEvictionPolicy).to.equal('AlwaysAllow')
  })

  describe('with Helm, after the removal of everything', () => {
    const boundary = '22222222-2222-4222-8222-222222222222'
    const release = ['freehold', '-n', SYSTEM_NAMESPACE]
    let helm: string
    const helmed = (...words: string[]) =>
      run(helm, [...words, '--kubeconfig', controlPlane.kubeconfigPath], { maxBuffer: 16 * 1024 * 1024 })
    const upgrade = (...words: string[]) =>
      helmed('upgrade', '--install', ...release, join(deploy, 'helm/freehold'), ...words).then(() => undefined)
    const labelSelector = 'app.kubernetes.io/part-of=freehold'
    const definitions = async () => (await client.list(customResourceDefinition, { labelSelector })).items.length
    const leaving = async () =>
      (await client.list(namespace)).items.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    const boundaryLives = async () => (await client.get(Boundary.resource, { name: boundary })).metadata.uid

    /** As docs/install.md says. */
    const unlock = () => {
      const guard = ['policy', 'policybinding'].map((kind) => `validatingadmission${kind}/freehold-removal`)
      return kubectl('patch', ...guard, '--type=merge', '-p', '{"metadata":{"finalizers":null}}')
    }

    before(async function () {
      helm = await helmOrSkip(this)
      await unlock()
      // A namespace that is deleted together with CRDs may be retried only minutes later.
      for (const part of ['manifests', 'crds']) await kubectl('delete', '--ignore-not-found', '-k', join(deploy, part))
      await kubectl('apply', '-f', join(deploy, 'manifests/namespace.yaml'))
    })

    it('installs, and changes nothing with an upgrade without changes', async () => {
      await upgrade()
      const generations = async () =>
        (await client.list(deployment, { namespace: SYSTEM_NAMESPACE })).items.map(
          ({ metadata }) => metadata.generation,
        )
      const before = await generations()
      expect(before).to.have.length(3)
      await upgrade()
      expect(await generations()).to.deep.equal(before)
    })

    it('keeps CRDs and objects when it is uninstalled, and adopts them again', async () => {
      await until('a record is made', () =>
        client
          .create(Boundary.resource, {
            apiVersion: Boundary.apiVersion,
            kind: Boundary.kind,
            metadata: { name: boundary },
            spec: { displayName: 'Acme' },
          } as KubeObject)
          .then(() => true),
      )
      const [uid, count] = [await boundaryLives(), await definitions()]
      const { stdout } = await helmed('uninstall', ...release)
      expect(stdout).to.contain('kept due to the resource policy')
      expect((await client.list(deployment, { namespace: SYSTEM_NAMESPACE })).items).to.deep.equal([])
      expect([await boundaryLives(), await definitions()]).to.deep.equal([uid, count])
      // The guard outlives the manifests, or a second attempt to delete everything would delete the definitions.
      const again = await kubectl('delete', '--dry-run=server', '-k', join(deploy, 'crds')).catch(
        ({ stderr }) => stderr,
      )
      expect(String(again)).to.contain(`boundary "${boundary}" still exists`)
      // Its namespaces take a moment to be deleted, and accept nothing meanwhile.
      await until('its namespaces are gone', async () => (await leaving()).length === 0)
      await upgrade()
      expect(await boundaryLives()).to.equal(uid)
    })

    it('removes the CRDs with keepDefinitions=false', async () => {
      await upgrade('--set', 'keepDefinitions=false')
      // While there is a boundary, the CRDs refuse to be deleted.
      await client.remove(Boundary.resource, { name: boundary })
      await unlock()
      await helmed('uninstall', ...release, '--wait')
      await until('no definition is left', async () => (await definitions()) === 0)
    })
  })
})
