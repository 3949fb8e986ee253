import type { z } from 'zod'
import { PLATFORM_COMPONENT } from '../contracts/lifecycle.ts'
import type { PlatformComponent } from './lifecycle.ts'

type Declared = Omit<z.input<typeof PlatformComponent.spec>, 'version' | 'requestedAt' | 'refreshRequestedAt'>

const deployments = (...names: string[]) => names.map((name) => ({ kind: 'Deployment' as const, name }))
const requiredValue = (key: string, title: string, description: string) => ({ key, title, description })

/** Values that every part of Freehold needs from its environment. */
const ENVIRONMENT_VALUES = [
  requiredValue('configuration.issuer', 'Issuer', 'The iss claim of accepted tokens, such as the realm of a Keycloak'),
  requiredValue('configuration.publicUrl', 'Public URL', 'URL at which callers reach the REST interface'),
  requiredValue('configuration.clusterDomain', 'Domain', 'Suffix of the default host names of resources'),
]

/**
 * The components that Freehold runs with, by name. Only what is declared here is reset to this release; what
 * administrators add, such as values of a chart, stays.
 */
export const DEFAULT_COMPONENTS: Readonly<Record<string, Declared>> = {
  [PLATFORM_COMPONENT]: {
    title: 'Freehold',
    kind: 'LifecycleModule',
    chart: { name: 'freehold', url: 'oci://ghcr.io/freehold-dev/charts/freehold' },
    workloads: deployments('freehold-controllers', 'freehold-facade', 'freehold-activator'),
    required: ENVIRONMENT_VALUES,
  },
  flux: {
    title: 'Flux',
    kind: 'ThirdPartyChart',
    namespace: 'flux-system',
    chart: { name: 'flux2', url: 'oci://ghcr.io/fluxcd-community/charts/flux2' },
    // Flux would carry out its own upgrade.
    isManualUpgrade: true,
    crds: ['helmreleases.helm.toolkit.fluxcd.io', 'ocirepositories.source.toolkit.fluxcd.io'],
    workloads: deployments('helm-controller', 'source-controller'),
  },
  'cert-manager': {
    title: 'cert-manager',
    kind: 'ThirdPartyChart',
    namespace: 'cert-manager',
    chart: { name: 'cert-manager', url: 'oci://quay.io/jetstack/charts/cert-manager' },
    crds: ['certificates.cert-manager.io', 'issuers.cert-manager.io', 'clusterissuers.cert-manager.io'],
    values: { crds: { enabled: true } },
    workloads: deployments('cert-manager', 'cert-manager-cainjector', 'cert-manager-webhook'),
  },
  'cloudnative-pg': {
    title: 'CloudNativePG',
    kind: 'ThirdPartyChart',
    namespace: 'cnpg-system',
    chart: { name: 'cloudnative-pg', url: 'oci://ghcr.io/cloudnative-pg/charts/cloudnative-pg' },
    crds: ['clusters.postgresql.cnpg.io', 'backups.postgresql.cnpg.io', 'poolers.postgresql.cnpg.io'],
    workloads: deployments('cloudnative-pg'),
  },
  'plugin-barman-cloud': {
    title: 'Barman Cloud plugin of CloudNativePG',
    kind: 'ThirdPartyChart',
    namespace: 'cnpg-system',
    chart: { name: 'plugin-barman-cloud', url: 'oci://ghcr.io/cloudnative-pg/charts/plugin-barman-cloud' },
    dependsOn: [{ name: 'cloudnative-pg', constraint: '>=0.23.0' }, { name: 'cert-manager' }],
    crds: ['objectstores.barmancloud.cnpg.io'],
    workloads: deployments('plugin-barman-cloud'),
  },
  traefik: {
    title: 'Traefik, as the Gateway of public hosts',
    kind: 'ThirdPartyChart',
    namespace: 'traefik',
    chart: { name: 'traefik', url: 'oci://ghcr.io/traefik/helm/traefik' },
    crds: ['httproutes.gateway.networking.k8s.io', 'gateways.gateway.networking.k8s.io'],
    values: { providers: { kubernetesGateway: { enabled: true } } },
    workloads: deployments('traefik'),
  },
  // Its chart is in no registry, so the platform only watches it.
  velero: {
    title: 'Velero',
    kind: 'ThirdPartyChart',
    namespace: 'velero',
    crds: ['backups.velero.io', 'schedules.velero.io', 'backupstoragelocations.velero.io'],
    workloads: deployments('velero'),
  },
}
