import { buildLabels, builtDeployment } from '../../contracts/builds/labels.ts'
import { BUILD_SECRET_KEYS, type BuildTask } from '../../contracts/builds/pod.ts'
import { BUILD_NAMESPACE, buildName } from '../../contracts/builds/progress.ts'
import type { BuildRequest, BuildSettings, BuildVariable, RegistryAccount } from '../../contracts/builds/request.ts'
import { dockerConfig } from '../../contracts/dockerConfig.ts'
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../core/labels.ts'
import { sha256 } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import { secretData } from '../../core/secretData.ts'
import { type Child, child, secret } from '../workload/child.ts'
import { buildNetworkPolicy } from './network.ts'
import { podSpec } from './podSpec.ts'
import { buildRetryPolicy } from './retryPolicy.ts'

/** Seconds for which a finished build's Job is kept, so that a controller that was down can still read it. */
const JOB_TTL_SECONDS = 3_600

export type BuildObjects = {
  readonly job: Child<'Job'>
  /** The Secret and the network policy. The Job owns them, so they are created after it and deleted with it. */
  readonly dependents: readonly KubeObject[]
}

/**
 * Returns everything one build needs, all in the namespace of builds.
 *
 * No command of the source runs next to a credential: the first container fetches the source, the second builds and can
 * at most read its own repository, the third pushes the result.
 */
export function buildObjects(request: BuildRequest, settings: BuildSettings): BuildObjects {
  const name = buildName(builtDeployment(request))
  const labels = {
    ...buildLabels(request),
    [MANAGED_BY_LABEL]: MANAGED_BY,
    'app.kubernetes.io/name': 'build',
  }
  const place = { namespace: BUILD_NAMESPACE, labels }
  const job = child(
    place,
    { apiVersion: 'batch/v1', kind: 'Job', name },
    {
      spec: {
        // Suspended until the Secret and the policy exist; the controller that creates them resumes the Job.
        suspend: true,
        completions: 1,
        parallelism: 1,
        ...buildRetryPolicy(),
        activeDeadlineSeconds: request.recipe.timeoutSeconds,
        ttlSecondsAfterFinished: JOB_TTL_SECONDS,
        template: { metadata: { labels }, spec: podSpec(name, settings) },
      },
    },
  )
  const data = secretData(secretEntriesOf(request, settings))
  return { job, dependents: [secret(place, name, data), buildNetworkPolicy(place, name, request, settings)] }
}

/** Sets the Job as owner, so that deleting the Job deletes the object. */
export function ownedByJob(object: KubeObject, { name, uid }: { name: string; uid: string }): KubeObject {
  const ownerReferences = [{ apiVersion: 'batch/v1', kind: 'Job', name, uid }]
  return { ...object, metadata: { ...object.metadata, ownerReferences } }
}

function secretEntriesOf(request: BuildRequest, settings: BuildSettings): Record<string, string> {
  const { source, recipe, target } = request
  const account = (key: string, given: RegistryAccount | undefined) =>
    given === undefined ? {} : { [key]: dockerConfig({ [target.registry]: given }) }
  return {
    [BUILD_SECRET_KEYS.order]: JSON.stringify(buildTaskOf(request, settings)),
    [BUILD_SECRET_KEYS.environment]: recipe.environment.map(assignment).join(''),
    ...account(BUILD_SECRET_KEYS.pull, target.pull),
    ...account(BUILD_SECRET_KEYS.push, target.push),
    ...(source.kind === 'Git' ? gitEntries(source) : {}),
  }
}

function gitEntries({ url, credentials }: Extract<BuildRequest['source'], { kind: 'Git' }>): Record<string, string> {
  if (credentials === undefined) return {}
  if ('privateKey' in credentials) {
    const { privateKey, knownHosts } = credentials
    return {
      // OpenSSH accepts Unix line endings only, and needs one after the last line.
      [BUILD_SECRET_KEYS.privateKey]: `${privateKey.replace(/\r\n?/g, '\n').trimEnd()}\n`,
      [BUILD_SECRET_KEYS.knownHosts]: knownHosts,
    }
  }
  const address = new URL(url)
  address.username = encodeURIComponent(credentials.username)
  address.password = encodeURIComponent(credentials.token)
  return {
    [BUILD_SECRET_KEYS.gitCredentials]: `${address.protocol}//${address.username}:${address.password}@${address.host}\n`,
  }
}

/** Single quotes keep a shell from interpreting anything in the value. */
const assignment = ({ name, value }: BuildVariable) => `export ${name}='${value.replaceAll("'", `'\\''`)}'\n`

function buildTaskOf({ source, recipe, target }: BuildRequest, settings: BuildSettings): BuildTask {
  const { environment, timeoutSeconds: _, ...known } = recipe
  const { isRegistryInsecure, imageMirror, packageMirrors, scannerImage, certificateAuthority } = settings
  const repository = `${target.registry}/${target.repository}`
  const text = JSON.stringify(environment)
  return {
    source:
      source.kind === 'Archive'
        ? { kind: 'Archive', reference: source.reference }
        : {
            kind: 'Git',
            url: source.url,
            branch: source.branch,
            ...(source.commit !== undefined && { commit: source.commit }),
          },
    recipe: {
      ...known,
      variables: environment.map(({ name }) => name),
      environmentVersion: environment.length === 0 ? '' : sha256(`${target.repository} ${text}`).slice(0, 16),
    },
    image: `${repository}:${target.tag}`,
    cache: `${repository}:${cacheTag(target.cache)}`,
    settings: {
      registry: target.registry,
      ...{ isRegistryInsecure, imageMirror, packageMirrors, scannerImage, certificateAuthority },
    },
  }
}

/** Branch names may be longer than tags, and contain characters that tags must not. */
const cacheTag = (branch: string) => `cache-${sha256(branch).slice(0, 16)}`
