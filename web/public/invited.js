// Leads from the page that a preview shows to the app; the fragment goes along, and no server sees it.
location.replace(`../${location.hash}`);
