import { alertOccurrencesOf, RESOLVED_ALERT_TTL_MS, RESOLVED_ALERTS_MAX } from '../contracts/monitoring.ts'
import { type KubeObject, refOf } from '../core/object.ts'
import { done, type Outcome } from '../core/outcome.ts'
import { compareTexts } from '../core/textOrder.ts'
import { PlatformAlert } from '../crds/monitoring.ts'
import { controller, type Pass, steps } from './engine/controller.ts'

/**
 * Reports when alerts were seen, and deletes those that were resolved long ago, or before many others of their boundary.
 * A firing alert costs nothing.
 */
export const alertController = controller(PlatformAlert, {
  observes: [],
  writes: [{ resource: PlatformAlert.resource, verbs: ['delete'] }],
  reconcile: steps(reportSeen, forgetSurplus, forgetResolved),
})

type AlertPass = Pass<typeof PlatformAlert>
type AlertObject = PlatformAlert & KubeObject

async function reportSeen(pass: AlertPass): Promise<Outcome> {
  pass.report(alertOccurrencesOf(pass.object, pass.now))
  return done()
}

/** Deletes the oldest resolved alerts of the namespace, each time that one of them is looked at. */
async function forgetSurplus(pass: AlertPass): Promise<Outcome> {
  if (pass.object.spec.status !== 'Resolved') return done()
  const all = pass.records
    .cache<AlertObject>(PlatformAlert.resource)
    .list({ namespace: pass.object.metadata.namespace })
  const resolved = all.filter(({ spec }) => spec.status === 'Resolved')
  if (resolved.length <= RESOLVED_ALERTS_MAX) return done()
  const resolvedAt = (alert: AlertObject) => alertOccurrencesOf(alert, pass.now).resolvedAt ?? pass.now
  const oldestFirst = resolved.toSorted((one, other) => compareTexts(resolvedAt(one), resolvedAt(other)))
  for (const alert of oldestFirst.slice(0, resolved.length - RESOLVED_ALERTS_MAX)) await forget(pass, alert)
  return done()
}

export async function forgetResolved(pass: AlertPass): Promise<Outcome> {
  const { resolvedAt } = alertOccurrencesOf(pass.object, pass.now)
  if (resolvedAt === undefined) return done()
  const remainingMs = Date.parse(resolvedAt) + RESOLVED_ALERT_TTL_MS - Date.parse(pass.now)
  if (remainingMs > 0) return done({ after: remainingMs })
  await forget(pass, pass.object)
  return done()
}

/** With the version, because it may fire again at this moment. */
async function forget({ records }: AlertPass, alert: KubeObject): Promise<void> {
  const { uid, resourceVersion } = alert.metadata
  await records.client.remove(PlatformAlert.resource, refOf(alert), { uid, resourceVersion })
}
