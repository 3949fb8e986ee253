import type { AnyKind } from '../../crds/define.ts'
import type { AnyDeclaration } from './types.ts'

const DECLARATIONS = new Map<string, AnyDeclaration<AnyKind>>()

/** Registers how REST turns a body into the spec of a kind, for code that creates resources of any kind. */
export function registerDeclaration<K extends AnyKind>({ kind }: K, declaration: AnyDeclaration<K>): void {
  DECLARATIONS.set(kind, declaration as unknown as AnyDeclaration<AnyKind>)
}

/** Returns undefined for a kind whose objects REST creates in another way. */
export function declarationOf({ kind }: AnyKind): AnyDeclaration<AnyKind> | undefined {
  return DECLARATIONS.get(kind)
}
