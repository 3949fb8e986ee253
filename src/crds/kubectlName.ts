import type { AnyKind } from './define.ts'

/** Returns what kubectl calls an object, which is not what paths of REST do: `sqlinstances/ledger`. */
export function kubectlName({ resource }: Pick<AnyKind, 'resource'>, name: string): string {
  return `${resource.plural}/${name}`
}
