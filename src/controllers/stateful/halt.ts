import type { Outcome } from '../../core/outcome.ts'
import { statefulSet } from '../../kube/builtin.ts'
import { scaleToZero } from '../workload/halt.ts'
import { observedWorkload, type StatefulPass } from './pass.ts'

/** Stops a StatefulSet if the steps of its resource cannot run to their end. */
export function haltStateful<P extends StatefulPass>(judgeStopped: (pass: P) => Outcome) {
  return function haltStateful(pass: P) {
    const { running, replicas } = pass.object.spec
    const isToRun = running !== false && replicas !== 0
    if (isToRun || pass.state.workload !== undefined) return undefined
    return async (): Promise<Outcome> => {
      const made = observedWorkload(pass)
      const [stored] = made === undefined ? [] : await scaleToZero(pass, statefulSet, [made])
      pass.state.workload = stored
      return judgeStopped(pass)
    }
  }
}
