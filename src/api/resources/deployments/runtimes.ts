import { statusOf } from '../../../contracts/builds/runtimes.ts'
import { AppRuntime } from '../../../crds/appruntimes.ts'
import type { Services } from '../../http/context.ts'

/** The status of a version: the administrator's setting, or else by its date. */
export function runtimeStatusOf(
  { status, endsAt }: AppRuntime['spec']['versions'][number],
  { clock }: Pick<Services, 'clock'>,
) {
  return status ?? statusOf({ endsAt }, clock.now())
}

/** The runtimes of the platform, and the images that their code is built in. */
export function codeChoices(services: Services): { runtime: string[]; builderImage: string[] } {
  const runtimes = services.records.peekAll(AppRuntime)
  const images = runtimes
    .flatMap(({ spec }) => spec.versions)
    .flatMap((version) => (runtimeStatusOf(version, services) === 'Ended' ? [] : [version.builderImage]))
  return { runtime: runtimes.map(({ metadata }) => metadata.name).sort(), builderImage: [...new Set(images)].sort() }
}
