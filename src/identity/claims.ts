/** The uid of the object behind the subject. It differs for a principal that was recreated with an old id. */
export const PRINCIPAL_UID = 'principal_uid'
