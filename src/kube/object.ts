// Declared in core, because `desired` and `crds` need these types and may not import this room.
export * from '../core/object.ts'
