import { FUNCTION_CONTAINER, FUNCTION_PORT, functionNames, functionRouteName } from '../contracts/functions.ts'
import { pullPolicyOf, pullSecretsOf } from '../contracts/registry/names.ts'
import { PREFIX } from '../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import type { EffectivePlan } from '../core/sizing/plans.ts'
import type { FunctionNamespace, ServerlessFunction } from '../crds/functions.ts'
import { type Child, type WorkloadInput, workloadInput } from './workload/child.ts'
import { certificates, type Hosted, httpRoute, ingress } from './workload/host.ts'
import { identityFiles, secretMount, secretVolume } from './workload/mountedSecrets.ts'
import {
  deployment,
  literal,
  RESTARTED_AT_ANNOTATION,
  restrictedContainer,
  restrictedPod,
  secretVariable,
} from './workload/pod.ts'

/** On a pod template: the version of the Secret's content that the pods use. A new version triggers a rollout. */
const VALUES_ANNOTATION = `${PREFIX}values`

type Variable = ServerlessFunction['spec']['env'][number]

/** Merges variables: those of the function override those of its namespace. */
export function mergeVariables(namespace: readonly Variable[], own: readonly Variable[]): Variable[] {
  const names = new Set(own.map(({ name }) => name))
  return [...own, ...namespace.filter(({ name }) => !names.has(name))]
}

/** Returns the replicas that calls need now, within the function's bounds; 0 if it or its namespace is switched off. */
export function wantedCopies(
  { spec, status }: Pick<ServerlessFunction, 'spec' | 'status'>,
  functionNamespace: Pick<FunctionNamespace, 'spec'> | undefined,
): number {
  if (!spec.enabled || functionNamespace?.spec.running === false) return 0
  return Math.min(Math.max(status?.desiredReplicas ?? 0, spec.minReplicas), spec.maxReplicas)
}

export type CopyInput = {
  object: ServerlessFunction
  functionNamespace: Pick<FunctionNamespace, 'spec'>
  image: string
  plan: EffectivePlan
  environment: readonly Variable[]
  /** Version of the Secret with referenced values; undefined without one. */
  valuesVersion: string | undefined
  /** Secret with the credentials of the namespace's identity; undefined without one. */
  identitySecret: string | undefined
  registryHost: string | undefined
}

export function functionShared(object: Pick<ServerlessFunction, 'kind' | 'metadata'>) {
  return workloadInput({ ...object, spec: {} }, functionNames(object.metadata.name), 'function')
}

/** The copies of a function. Pods of its group reach them directly; other calls go through the activator's checks. */
export function functionCopies(input: CopyInput): Child<'Deployment'> {
  const { object, functionNamespace, image, registryHost, valuesVersion, identitySecret } = input
  const { restartedAt } = functionNamespace.spec
  const shared = functionShared(object)
  const pullSecrets = pullSecretsOf(image, registryHost)
  return deployment(shared, {
    name: shared.names.workload,
    replicas: wantedCopies(object, functionNamespace),
    labels: {},
    annotations: {
      ...(valuesVersion === undefined ? {} : { [VALUES_ANNOTATION]: valuesVersion }),
      ...(restartedAt === undefined ? {} : { [RESTARTED_AT_ANNOTATION]: restartedAt }),
    },
    pod: restrictedPod(
      { user: 65_532, fsGroup: 65_532 },
      {
        // A call in flight ends before its copy does.
        terminationGracePeriodSeconds: object.spec.timeoutSeconds + 5,
        ...(pullSecrets.length === 0 ? {} : { imagePullSecrets: pullSecrets }),
        containers: [container(shared, input)],
        volumes: identityFiles(identitySecret).map(secretVolume),
      },
    ),
  })
}

function container(
  { names }: ReturnType<typeof functionShared>,
  { object, image, registryHost, plan, environment, identitySecret }: CopyInput,
): object {
  const imagePullPolicy = pullPolicyOf(image, registryHost, object.metadata.namespace ?? '')
  const { handler, timeoutSeconds } = object.spec
  const plain = (name: string, value: string) => ({ name, value: literal(value) })
  return restrictedContainer(
    plan,
    {
      name: FUNCTION_CONTAINER,
      image,
      ...(imagePullPolicy && { imagePullPolicy }),
      env: [
        plain('FUNCTION_HANDLER', handler),
        plain('FUNCTION_TIMEOUT_SECONDS', String(timeoutSeconds)),
        plain('PORT', String(FUNCTION_PORT)),
        ...environment.map(({ name, value }) =>
          value === undefined ? secretVariable(name, names.values, name) : plain(name, value),
        ),
      ],
      ports: [{ name: 'http', containerPort: FUNCTION_PORT, protocol: 'TCP' }],
      volumeMounts: identityFiles(identitySecret).map(secretMount),
      // A caller waits for the first copy, so probe often.
      readinessProbe: { tcpSocket: { port: 'http' }, periodSeconds: 1, failureThreshold: 3 },
      // Three seconds suffice: the activator, the only caller, learns of it at once.
      lifecycle: { preStop: { sleep: { seconds: 3 } } },
    },
    { writesToRoot: true },
  )
}

export type RouteInput = Hosted & {
  object: FunctionNamespace
  /** The activator's Service. */
  service: string
  port: number
  certificateIssuer: string | undefined
}

/** Routes the hosts of a namespace to the activator, in the activator's namespace instead of the tenant's. */
export function routeObjects(input: RouteInput): KubeObject[] {
  const { object, service, port, certificateIssuer } = input
  const { namespace = '', name } = object.metadata
  const { labels, selector, isPublic, ranges } = workloadInput(
    { ...object, spec: { allowedCidrs: object.spec.allowedCidrs } },
    undefined,
    'function',
  )
  const shared: WorkloadInput = { namespace: SYSTEM_NAMESPACE, labels, selector, isPublic, ranges, names: undefined }
  const backend = { name: functionRouteName(namespace, name), service, port: { name: 'functions', number: port } }
  const hosted = { ...input, ...shared }
  return [ingress(hosted, backend), httpRoute(hosted, backend), ...certificates(hosted, certificateIssuer)].filter(
    (each) => each !== undefined,
  )
}
