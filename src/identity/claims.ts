/** The claim that names the object behind the subject: of a principal made anew under an old id it is another. */
export const PRINCIPAL_UID = 'principal_uid'
