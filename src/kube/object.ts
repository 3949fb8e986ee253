// The words live in core, because `desired` and `crds` speak them and may not import this room.
export * from '../core/object.ts'
