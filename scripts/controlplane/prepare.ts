import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import { NODE_ADDRESS } from '../node/addresses.ts'
import {
  admissionConfiguration,
  auditPolicy,
  authenticationConfiguration,
  authorizationConfiguration,
  encryptionConfiguration,
  type Webhook,
} from './access.ts'
import { readOrCreate, writePrivate } from './files.ts'
import { API_SERVER_NAMES, type FlagOptions, layout, PORT_NAMES, STAGES, schedulerConfiguration } from './flags.ts'
import { kubeconfigOf, writeKubeconfigFile } from './kubeconfig.ts'
import { Authority, keepServiceAccountKey } from './pki.ts'
import { choosePorts } from './ports.ts'
import type { AccessOptions, ControlPlane, StartOptions } from './types.ts'

export type Files = Awaited<ReturnType<typeof prepare>>

/** All files that the processes read: certificates, kubeconfigs, configuration. */
export async function prepare(folder: string, options: StartOptions) {
  const paths = layout(folder)
  const ports = await choosePorts(folder, PORT_NAMES)
  const server = `https://127.0.0.1:${ports.apiServer}`
  const nodeAddress = options.realNode === undefined ? undefined : NODE_ADDRESS
  const apiServerNames = [...API_SERVER_NAMES, NODE_ADDRESS]
  const [ca, etcdCa, frontProxyCa, servingCa] = (await Promise.all(
    (['ca', 'etcd-ca', 'front-proxy-ca', 'serving-ca'] as const).map((name) => Authority.open(paths.pki, name)),
  )) as [Authority, Authority, Authority, Authority]
  const client = (name: string, commonName: string, organizations: readonly string[] = []) =>
    ca.keep(paths.pki, name, { commonName, organizations, purpose: 'client' })
  const [admin, controllerManager, scheduler, player, webhookCaller] = await Promise.all([
    client('admin', 'freehold:admin', ['system:masters']),
    client('kube-controller-manager', 'system:kube-controller-manager'),
    client('kube-scheduler', 'system:kube-scheduler'),
    client('kwok', 'freehold:player'),
    client('authorization-webhook', 'freehold:authorization-webhook-caller'),
    client('kubelet-client', 'kube-apiserver-kubelet-client', ['system:masters']),
    ca.keep(paths.pki, 'kube-apiserver', { commonName: 'kube-apiserver', purpose: 'server', names: apiServerNames }),
    etcdCa.keep(paths.pki, 'etcd', { commonName: 'etcd', purpose: 'peer', names: ['127.0.0.1', 'localhost'] }),
    etcdCa.keep(paths.pki, 'etcd-client', { commonName: 'kube-apiserver', purpose: 'client' }),
    frontProxyCa.keep(paths.pki, 'front-proxy-client', { commonName: 'front-proxy-client', purpose: 'client' }),
    keepServiceAccountKey(paths.pki),
  ])
  const kubeconfig = (name: string, user: { certPem: string; keyPem: string }) =>
    kubeconfigOf(server, ca.certPem, [{ name, user }])
  const adminKubeconfig = kubeconfig('freehold-admin', admin)
  await Promise.all([
    writeKubeconfigFile(paths.kubeconfig('admin'), adminKubeconfig),
    writeKubeconfigFile(
      paths.kubeconfig('kube-controller-manager'),
      kubeconfig('controller-manager', controllerManager),
    ),
    writeKubeconfigFile(paths.kubeconfig('kube-scheduler'), kubeconfig('scheduler', scheduler)),
    writeKubeconfigFile(paths.kubeconfig('kwok'), kubeconfig('player', player)),
    // Users in this file are named by host; the star matches all.
    writeKubeconfigFile(paths.kubeconfig('admission-webhooks'), kubeconfig('*', webhookCaller)),
    writeConfiguration(folder, { ca, servingCa }, options),
  ])
  const { durable = true, auditWebhook } = options
  const audit = auditWebhook !== undefined
  const flagOptions: FlagOptions = { folder, ports, durable, audit, nodeAddress }
  return {
    server,
    authorities: { ca, servingCa },
    admin,
    adminKubeconfig,
    adminPath: paths.kubeconfig('admin'),
    flagOptions,
  }
}

type Authorities = { ca: Authority; servingCa: Authority }

async function writeConfiguration(folder: string, authorities: Authorities, options: StartOptions): Promise<void> {
  const paths = layout(folder)
  const write = (name: string, object: object) =>
    writePrivate(paths.configuration(name), dump(object, { lineWidth: -1 }))
  const secretsKey = await readOrCreate(join(paths.pki, 'secrets-at-rest.key'), () =>
    randomBytes(32).toString('base64'),
  )
  const stages = ['configuration', 'node', 'pod', 'service', 'claim', 'postgresql'].map((name) =>
    readFile(join(STAGES, `${name}.yaml`), 'utf8'),
  )
  await Promise.all([
    writeAccess(folder, authorities, options),
    write('encryption', encryptionConfiguration(secretsKey)),
    write('admission', admissionConfiguration(paths.kubeconfig('admission-webhooks'))),
    write('audit', auditPolicy()),
    write('scheduler', schedulerConfiguration(paths.kubeconfig('kube-scheduler'))),
    writePrivate(paths.configuration('kwok'), (await Promise.all(stages)).join('---\n')),
  ])
}

/** The two files that the API server reloads when they change. */
async function writeAccess(folder: string, { ca, servingCa }: Authorities, access: AccessOptions): Promise<void> {
  const paths = layout(folder)
  const write = (name: string, object: object) =>
    writePrivate(paths.configuration(name), dump(object, { lineWidth: -1 }))
  const caPem = servingCa.certPem
  await write('authentication', authenticationConfiguration(access.oidc && { caPem, ...access.oidc }))
  const { authorizationWebhook: webhook, auditWebhook } = access
  if (webhook === undefined && auditWebhook === undefined)
    return write('authorization', authorizationConfiguration(undefined))
  // The client certificate by which the webhook recognises the API server.
  const user = await ca.keep(paths.pki, 'authorization-webhook', {
    commonName: 'freehold:authorization-webhook-caller',
    purpose: 'client',
  })
  const writeWebhook = async (name: string, to: Webhook | undefined): Promise<string | undefined> => {
    if (to === undefined) return undefined
    const path = paths.kubeconfig(name)
    await writeKubeconfigFile(path, kubeconfigOf(to.url, to.caPem ?? caPem, [{ name: 'api-server', user }]))
    return path
  }
  await writeWebhook('audit-webhook', auditWebhook)
  await write('authorization', authorizationConfiguration(await writeWebhook('authorization-webhook', webhook)))
}

/** What a control plane offers to holders of the folder's keys, in the process that runs it or another. */
export function accessTo(
  folder: string,
  { server, authorities, adminKubeconfig, adminPath }: Omit<Files, 'admin' | 'flagOptions'>,
) {
  const { ca, servingCa } = authorities
  return {
    apiServerUrl: server,
    caPem: ca.certPem,
    servingCaPem: servingCa.certPem,
    kubeconfigPath: adminPath,
    adminKubeconfig,
    issueClientCertificate: (commonName, organizations = []) =>
      ca.issue({ commonName, organizations, purpose: 'client' }),
    issueServingCertificate: (names) =>
      servingCa.issue({ commonName: names[0] ?? 'freehold', names, purpose: 'server' }),
    writeKubeconfig: (path, ...contexts) => writeKubeconfigFile(path, kubeconfigOf(server, ca.certPem, contexts)),
    reconfigure: (access) => writeAccess(folder, authorities, access),
  } satisfies Partial<ControlPlane>
}
