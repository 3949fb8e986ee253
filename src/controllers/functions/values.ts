import { randomBytes } from 'node:crypto'
import { functionNames, KEY_DIGEST_SECRET, KEY_DIGEST_SECRET_ENTRY, keyDigest } from '../../contracts/functions.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { type SecretData, secretData } from '../../core/secretData.ts'
import { type ServerlessFunction, triggersOf } from '../../crds/functions.ts'
import { functionShared } from '../../desired/functions.ts'
import type { LiveDeployment } from '../../desired/workload/podProblems.ts'
import { deployment, secret } from '../../kube/builtin.ts'
import { ignoreKubeAlreadyExists } from '../../kube/errors.ts'
import type { Rights } from '../engine/controller.ts'
import { vaultValue } from '../vaults/open.ts'
import { outputValue } from '../workload/outputs.ts'
import { refOfPass } from '../workload/pass.ts'
import { readSecret, withSecretRights } from '../workload/secrets.ts'
import { keepVersionedSecret, mayRead } from '../workload/values.ts'
import type { FunctionOptions, FunctionPass, FunctionStep } from './types.ts'

export type Variables = (pass: FunctionPass) => ServerlessFunction['spec']['env']

/** Writes referenced values to a Secret that copies read at start. A change of it rolls the copies. */
export function keepValues({ keys }: FunctionOptions, variablesOf: Variables): FunctionStep {
  return function keepValues(pass: FunctionPass): Promise<Outcome> {
    const references = variablesOf(pass).filter(({ value }) => value === undefined)
    if (references.length === 0 && pass.object.status?.hasValues !== true) return Promise.resolve(done())
    return withSecretRights(async () => {
      const texts: Record<string, string> = {}
      for (const { name, secret: reference, output } of references) {
        const value =
          reference !== undefined
            ? await vaultValue(pass, reference, keys)
            : output && (await outputValue(pass, output))
        if (value === undefined) continue
        if (typeof value !== 'string') return value
        texts[name] = value
      }
      await storeValues(pass, secretData(texts))
      return done()
    })
  }
}

async function storeValues(pass: FunctionPass, data: SecretData): Promise<void> {
  const { values, workload } = functionNames(pass.object.metadata.name)
  const { namespace } = refOfPass(pass)
  const stillRead = async () => {
    const live = await pass.children.get<LiveDeployment>(deployment, namespace, workload)
    return (key: string) => mayRead(live, values, key)
  }
  const kept = await keepVersionedSecret(pass, functionShared(pass.object), values, { data, stillRead })
  pass.report({ hasValues: kept.isKept || undefined })
  pass.state.valuesVersion = kept.version
}

export const DIGEST_RIGHTS: readonly Rights[] = [
  { resource: secret, verbs: ['get'], resourceNames: [KEY_DIGEST_SECRET], in: 'system' },
  // RBAC cannot restrict `create` to a name, so an admission policy does.
  { resource: secret, verbs: ['create'], in: 'system' },
]

/**
 * Reports digests of the keys that callers must send: the activator compares digests and never sees vault values. Runs
 * whatever else stops the function, so that a key grants nothing once its secret is unreadable or has changed.
 */
export function reportKeyDigests({ keys }: FunctionOptions): FunctionStep {
  return async function reportKeyDigests(pass: FunctionPass): Promise<Outcome> {
    const wanted = triggersOf(pass.object.spec).filter(({ keySecret }) => keySecret !== undefined)
    if (wanted.length === 0) {
      pass.report({ keys: undefined })
      return done()
    }
    const outcome = await withSecretRights(async () => {
      const digestKey = await digestKeyOf(pass)
      const digests = []
      let obstacle: Outcome | undefined
      for (const { name: trigger, keySecret } of wanted) {
        if (keySecret === undefined) continue
        const value = await vaultValue(pass, keySecret, keys)
        if (typeof value !== 'string') obstacle ??= value
        else digests.push({ trigger, digest: keyDigest(digestKey, pass.incarnation, trigger, value) })
      }
      pass.report({ keys: digests })
      return obstacle ?? done()
    })
    if (outcome.kind !== 'done') pass.state.keyObstacle = outcome
    return done()
  }
}

/** Reports why a key is not available, together with the other values. */
export const requireKeys: FunctionStep = ({ state }) => state.keyObstacle ?? done()

/** Returns the platform's digest key, which is created on first use. */
async function digestKeyOf(pass: FunctionPass): Promise<string> {
  const ref = { namespace: SYSTEM_NAMESPACE, name: KEY_DIGEST_SECRET }
  const { records } = pass
  const read = async () =>
    (await readSecret({ workloads: records }, ref.namespace, ref.name))?.data?.[KEY_DIGEST_SECRET_ENTRY]
  const held = await read()
  if (held !== undefined) return held
  const made = randomBytes(32).toString('base64')
  const object = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: ref,
    type: 'Opaque',
    data: { [KEY_DIGEST_SECRET_ENTRY]: made },
  }
  const isOurs = (await records.client.create(secret, object).catch(ignoreKubeAlreadyExists)) !== undefined
  return isOurs ? made : ((await read()) ?? '')
}

/** Deletes the stored files of a source that was replaced. */
export function pruneSourceFiles(pass: FunctionPass): Promise<Outcome> {
  const { object, recordChildren } = pass
  const { source } = object.spec
  const kept = object.status?.keptSource
  if (kept?.hash === source?.hash) return Promise.resolve(done())
  return withSecretRights(async () => {
    const { namespace, name } = refOfPass(pass)
    if (kept !== undefined)
      for (let part = 0; part < kept.parts; part += 1)
        await recordChildren.remove(secret, namespace, functionNames(name).source(kept.hash, part))
    pass.report({ keptSource: source && { hash: source.hash, parts: source.parts } })
    return done()
  })
}
